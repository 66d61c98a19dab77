// LLaMA in plain loops, in double: the reference that tests compare the real one with.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/model/job_spec.h"

namespace sdp {

// Values of the parameters by name, row-major.
using PlainParameters = std::map<std::string, std::vector<double>>;

// Sum of the cross entropies of one sequence in nats. `tokens` has one more than there are positions. Only
// the layers in `layers`, ascending, are run.
double PlainLlamaLoss(const LlamaSpec& spec, const PlainParameters& parameters,
                      const std::vector<int>& layers, const std::vector<int64_t>& tokens);

// The logits of each position of `tokens`, by layers likewise.
std::vector<std::vector<double>> PlainLlamaLogits(const LlamaSpec& spec, const PlainParameters& parameters,
                                                  const std::vector<int>& layers,
                                                  const std::vector<int64_t>& tokens);

}  // namespace sdp
