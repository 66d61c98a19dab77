#include "worker/averaging/sum.h"

namespace sdp {
namespace {

template <typename T>
void Add(T* __restrict sum, const T* __restrict addend, int64_t elements) {
  for (int64_t i = 0; i < elements; ++i) sum[i] += addend[i];
}

}  // namespace

void AddInto(float* sum, const float* addend, int64_t elements) { Add(sum, addend, elements); }
void AddInto(double* sum, const double* addend, int64_t elements) { Add(sum, addend, elements); }

}  // namespace sdp
