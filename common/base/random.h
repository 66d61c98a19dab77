// Random numbers that are the same on every platform: the standard library's distributions and shuffle are
// not.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"

namespace sdp {

// A bijective mix of 64 bits (the finalizer of SplitMix64, Steele et al. 2014).
inline uint64_t MixBits(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// SplitMix64: small, fast, passes BigCrush. Not for secrets.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    return MixBits(state_);
  }

  // Uniform in [0, bound). `bound` must be positive. Unbiased (Lemire 2019).
  uint64_t Below(uint64_t bound) {
    absl::uint128 product = absl::uint128(Next()) * bound;
    if (absl::Uint128Low64(product) < bound) {
      const uint64_t threshold = (0 - bound) % bound;
      while (absl::Uint128Low64(product) < threshold) {
        product = absl::uint128(Next()) * bound;
      }
    }
    return absl::Uint128High64(product);
  }

  // Uniform in [0, 1).
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

  // Fisher-Yates.
  template <typename T>
  void Shuffle(std::vector<T>& items) {
    for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[Below(i)]);
  }

 private:
  uint64_t state_;
};

}  // namespace sdp
