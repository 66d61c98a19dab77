#include "common/model/sample_order.h"

#include "common/base/check.h"
#include "common/base/random.h"

namespace sdp {
namespace {

constexpr int kRounds = 6;
constexpr uint64_t kGoldenGamma = 0x9e3779b97f4a7c15ULL;  // keeps a key of 0 from being mixed to 0

// A permutation of [0, 2^(2 half_bits)), one for each key: whatever the round function, a Feistel network is
// invertible.
uint64_t Permute(uint64_t value, uint64_t key, int half_bits) {
  const uint64_t mask = (uint64_t{1} << half_bits) - 1;
  uint64_t left = value >> half_bits;
  uint64_t right = value & mask;
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t round_key = MixBits(key + kGoldenGamma * (round + 1));
    const uint64_t next = left ^ (MixBits(round_key ^ right) & mask);
    left = right;
    right = next;
  }
  return (left << half_bits) | right;
}

}  // namespace

SampleOrder::SampleOrder(uint64_t seed, int64_t samples) : seed_(seed), samples_(samples), half_bits_(0) {
  SDP_CHECK(samples > 0, "an order needs at least one sample");
  while ((uint64_t{1} << (2 * half_bits_)) < static_cast<uint64_t>(samples) && half_bits_ < 31) ++half_bits_;
  SDP_CHECK(static_cast<uint64_t>(samples) <= uint64_t{1} << (2 * half_bits_), "more than 2^62 samples");
}

int64_t SampleOrder::SampleAt(int64_t position) const {
  const uint64_t pass = static_cast<uint64_t>(position / samples_);
  const uint64_t key = MixBits(MixBits(seed_ + kGoldenGamma) ^ pass);
  uint64_t value = static_cast<uint64_t>(position % samples_);
  // Cycle walking: what falls outside is permuted again until it comes back inside; each start inside ends
  // at a different place inside.
  do {
    value = Permute(value, key, half_bits_);
  } while (value >= static_cast<uint64_t>(samples_));
  return static_cast<int64_t>(value);
}

}  // namespace sdp
