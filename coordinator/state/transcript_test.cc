// Runs every transcript of testdata/ and compares what the core does with what the transcript says it does.
// To accept new behaviour, and then read the difference:
//   bazel run //coordinator/state:transcript_test -- --rewrite
#include "coordinator/state/transcript.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace sdp::coordinator {
namespace {

const char* const kFolder = "coordinator/state/testdata";

std::vector<std::string> Transcripts() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".txt") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class TranscriptTest : public testing::TestWithParam<std::string> {};

TEST_P(TranscriptTest, CoreDoesWhatItSays) {
  const std::string path = std::string(kFolder) + "/" + GetParam() + ".txt";
  const std::string expected = ReadFile(path);
  ASSERT_NE(expected.find("> "), std::string::npos) << path << " has no command";
  EXPECT_EQ(TranscriptRunner().Run(expected), expected);
}

INSTANTIATE_TEST_SUITE_P(All, TranscriptTest, testing::ValuesIn(Transcripts()),
                         [](const auto& info) { return info.param; });

void Rewrite(const std::string& workspace) {
  for (const std::string& name : Transcripts()) {
    const std::string path = std::string(kFolder) + "/" + name + ".txt";
    const std::string text = TranscriptRunner().Run(ReadFile(path));
    std::ofstream(workspace + "/" + path) << text;
  }
}

}  // namespace
}  // namespace sdp::coordinator

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc > 1 && std::string(argv[1]) == "--rewrite") {
    const char* workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY");
    sdp::coordinator::Rewrite(workspace != nullptr ? workspace : ".");
    return 0;
  }
  return RUN_ALL_TESTS();
}
