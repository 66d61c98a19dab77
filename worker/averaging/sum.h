// Element-wise sums, in a translation unit of their own because they are compiled to vector code.
#pragma once

#include <cstdint>

namespace sdp {

// sum[i] += addend[i] for i in [0, elements). The arrays do not overlap.
void AddInto(float* sum, const float* addend, int64_t elements);
void AddInto(double* sum, const double* addend, int64_t elements);

}  // namespace sdp
