#include "cli/byte_statistics.h"

#include <cmath>
#include <string>

#include "gtest/gtest.h"
#include "rapidcheck.h"

namespace sdp::cli {
namespace {

TEST(UnigramEntropy, KnownTexts) {
  EXPECT_EQ(UnigramEntropy(CountBytes("")), 0);
  EXPECT_EQ(UnigramEntropy(CountBytes("aaaa")), 0);
  EXPECT_DOUBLE_EQ(UnigramEntropy(CountBytes("abab")), std::log(2));
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_NEAR(UnigramEntropy(CountBytes(all)), std::log(256), 1e-12);
  EXPECT_NEAR(UnigramCrossEntropy(CountBytes("xyz"), CountBytes(all)), std::log(256), 1e-12);
}

TEST(UnigramCrossEntropy, UnseenBytesCostMuchButNotInfinitelyMuch) {
  EXPECT_DOUBLE_EQ(UnigramCrossEntropy(CountBytes("z"), CountBytes("aaaa")), std::log(4 + 256));
  EXPECT_EQ(UnigramCrossEntropy(CountBytes(""), CountBytes("a")), 0);
}

// Sums the loss byte by byte.
double SlowCrossEntropy(const std::string& text, const std::string& model) {
  double sum = 0;
  for (const char c : text) {
    double count = 1;
    for (const char m : model) count += m == c;
    sum -= std::log(count / (static_cast<double>(model.size()) + 256));
  }
  return sum / static_cast<double>(text.size());
}

TEST(UnigramCrossEntropy, AgreesWithASlowReferenceAndIsNeverBelowTheEntropy) {
  EXPECT_TRUE(rc::check("any two texts", [](const std::string& text, const std::string& model) {
    RC_PRE(!text.empty());
    const ByteCounts counts = CountBytes(text);
    const double cross = UnigramCrossEntropy(counts, CountBytes(model));
    RC_ASSERT(std::abs(cross - SlowCrossEntropy(text, model)) < 1e-9);
    RC_ASSERT(cross >= UnigramEntropy(counts) - 1e-12);
  }));
}

}  // namespace
}  // namespace sdp::cli
