// The examples that users start from are valid and say the truth.
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "common/wire/wire.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sdp {
namespace {

std::string ReadExample(const std::string& name) {
  std::stringstream text;
  text << std::ifstream("deploy/examples/" + name).rdbuf();
  return text.str();
}

TEST(ExampleSpec, LlamaTinyIsValid) {
  v1::JobSpec proto;
  ASSERT_THAT(ParseSpecText(ReadExample("llama-tiny.yaml"), &proto), testing::IsEmpty());
  JobSpec spec;
  const std::vector<SpecProblem> problems = ValidateSpec(proto, &spec);
  ASSERT_TRUE(problems.empty()) << ProblemsToStatus(problems);
  EXPECT_EQ(spec.model.layers, 8);
  EXPECT_EQ(spec.masking.active_ratio, 0.5);
  EXPECT_EQ(spec.stop_steps, 600);
}

// What the example calls a default is one: without those lines the job is the same.
TEST(ExampleSpec, LinesMarkedAsDefaultAreTheDefaults) {
  v1::JobSpec whole, short_one;
  std::string kept;
  std::istringstream lines(ReadExample("llama-tiny.yaml"));
  int dropped = 0;
  for (std::string line; std::getline(lines, line);) {
    const bool is_default =
        line.find("# (default)") != std::string::npos || line.find("(default: heads)") != std::string::npos;
    dropped += is_default;
    if (!is_default) kept += line + "\n";
  }
  EXPECT_GE(dropped, 14);
  ASSERT_THAT(ParseSpecText(ReadExample("llama-tiny.yaml"), &whole), testing::IsEmpty());
  ASSERT_THAT(ParseSpecText(kept, &short_one), testing::IsEmpty());
  JobSpec a, b;
  ASSERT_THAT(ValidateSpec(whole, &a), testing::IsEmpty());
  ASSERT_THAT(ValidateSpec(short_one, &b), testing::IsEmpty());
  EXPECT_EQ(SpecToYaml(SpecToProto(a)), SpecToYaml(SpecToProto(b)));
}

}  // namespace
}  // namespace sdp
