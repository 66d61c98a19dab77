// Running the full model, which no worker holds: components are streamed from their providers.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "common/model/micro_batches.h"
#include "common/model/parameter_table.h"
#include "common/model/plan.h"
#include "worker/averaging/communicator.h"
#include "worker/training/sample_reader.h"
#include "worker/training/subnetwork.h"

namespace sdp {

// Mean cross entropy in nats of the full model over the sequences `indices` of `validation`, split evenly
// among the ranks of `world`. A collective call with the same arguments on all ranks; the same result on all.
// Components are run in order, each for all rows of a chunk: those that not everyone holds are broadcast by
// their provider into a buffer that the next but one reuses. Errors: those of the Communicator, of
// TokenDataset::Read and of LibTorch (RESOURCE_EXHAUSTED, INTERNAL).
absl::StatusOr<double> FullModelLoss(const ParameterTable& table, const Plan& plan, Rank rank,
                                     const Subnetwork& subnetwork, SampleReader& validation,
                                     absl::Span<const int64_t> indices, const EvaluationRows& at_once,
                                     Communicator& world);

}  // namespace sdp
