// Which sample goes where: a function of the step alone, so that exactly-once needs no bookkeeping beyond the
// committed step.
#pragma once

#include <cstdint>

namespace sdp {

// The order in which samples are consumed: each pass over the data is a seeded permutation of the sample
// indices [0, samples). Stateless and cheap: a Feistel network over the index with cycle walking, no table in
// memory.
class SampleOrder {
 public:
  // `samples` must be positive.
  SampleOrder(uint64_t seed, int64_t samples);

  // Sample index at `position`, counted over all passes from 0: step s of global batch G consumes [s*G,
  // (s+1)*G).
  int64_t SampleAt(int64_t position) const;

  int64_t samples() const { return samples_; }

 private:
  uint64_t seed_;
  int64_t samples_;
  int half_bits_;  // the network permutes [0, 2^(2 half_bits)), the smallest such range that holds all
                   // indices
};

}  // namespace sdp
