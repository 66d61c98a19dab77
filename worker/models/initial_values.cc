#include "worker/models/initial_values.h"

#include <algorithm>
#include <cmath>

#include "common/base/check.h"
#include "common/base/random.h"
#include "xxhash.h"

namespace sdp {
namespace {

// Natural logarithm of a positive normal number from basic arithmetic alone: the C library's differs in its
// last bit between processors. 2 atanh((m-1)/(m+1)) with m in [sqrt(1/2), sqrt(2)); error below 1e-15.
double PortableLog(double x) {
  constexpr double kLn2 = 0.693147180559945309417;
  constexpr double kSqrtHalf = 0.707106781186547524401;
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);
  if (mantissa < kSqrtHalf) {
    mantissa *= 2;
    --exponent;
  }
  const double z = (mantissa - 1) / (mantissa + 1);
  double series = 0;
  for (int k = 21; k >= 1; k -= 2) series = series * z * z + 1.0 / k;
  return 2 * z * series + exponent * kLn2;
}

// Standard normal numbers in pairs: Marsaglia's polar method (1964).
class NormalNumbers {
 public:
  explicit NormalNumbers(uint64_t seed) : random_(seed) {}

  double Next() {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    double u = 0;
    double v = 0;
    double s = 0;
    do {
      u = 2 * random_.Unit() - 1;
      v = 2 * random_.Unit() - 1;
      s = u * u + v * v;
    } while (s >= 1 || s == 0);
    const double factor = std::sqrt(-2 * PortableLog(s) / s);
    spare_ = v * factor;
    has_spare_ = true;
    return u * factor;
  }

 private:
  Random random_;
  double spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace

void FillInitialValues(const Parameter& parameter, uint64_t seed, absl::Span<float> values) {
  SDP_CHECK(static_cast<int64_t>(values.size()) == parameter.elements(), "values of a whole parameter");
  if (parameter.init == Init::kOnes) {
    std::fill(values.begin(), values.end(), 1.0f);
    return;
  }
  NormalNumbers normal(XXH3_64bits_withSeed(parameter.name.data(), parameter.name.size(), seed));
  for (float& value : values) value = static_cast<float>(parameter.init_std * normal.Next());
}

}  // namespace sdp
