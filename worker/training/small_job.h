// Small jobs for tests of training: specs, plans and data made in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/data/token_dataset.h"
#include "common/model/job_spec.h"
#include "common/model/parameter_table.h"
#include "common/model/plan.h"

namespace sdp {

// Four blocks, hidden 16, four heads in two groups, sequences of 12 tokens below 32; global batch of 8.
JobSpec SmallJob();

// The plan of `mask` (one row of '0' and '1' per rank). In the order of the backward pass, neighbouring
// components of one holder set share a bucket of at most `bucket_elements` values. Empty `sequences`: an even
// split of the spec's global batch.
Plan PlanFor(const JobSpec& spec, const ParameterTable& table, const std::vector<std::string>& mask,
             std::vector<int> sequences = {}, int64_t bucket_elements = 6000);

// `sequences` sequences of a noisy arithmetic progression: easy to learn, never learnt in full.
std::shared_ptr<const TokenDataset> SmallDataset(int64_t sequences, int vocab, uint64_t seed);

}  // namespace sdp
