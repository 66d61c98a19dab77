// The coordinator as a process: its flags, its port file, its signals.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/rpc/options.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "sdp/v1/job_service.grpc.pb.h"
#include "sdp/v1/worker_service.grpc.pb.h"

namespace sdp::coordinator {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(20);

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// A running coordinator. Killed by the destructor when it has not ended.
class Process {
 public:
  explicit Process(const std::vector<std::string>& flags)
      : log_(absl::StrCat(testing::TempDir(), "/log-", ++count_)) {
    std::vector<std::string> arguments = {"coordinator/coordinator"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      const int file = open(log_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      dup2(file, STDERR_FILENO);
      execv(argv[0], argv.data());
      _exit(127);
    }
  }
  ~Process() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }

  void Signal(int signal) const { kill(pid_, signal); }
  // Exit code; -1 when it does not end in time, or not by itself.
  int Wait() {
    int status = 0;
    const absl::Time deadline = absl::Now() + kPatience;
    while (waitpid(pid_, &status, WNOHANG) == 0) {
      if (absl::Now() > deadline) return -1;
    }
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string log() const { return ReadFile(log_); }

 private:
  static int count_;
  std::string log_;
  pid_t pid_ = 0;
};
int Process::count_ = 0;

// The ports that a coordinator has written, once it has.
nlohmann::json AwaitPorts(const std::string& path) {
  const absl::Time deadline = absl::Now() + kPatience;
  while (absl::Now() < deadline) {
    const std::string text = ReadFile(path);
    if (!text.empty()) return nlohmann::json::parse(text);  // renamed into place: never half of it
  }
  ADD_FAILURE() << "no port file in time";
  return {{"grpc_port", 0}, {"metrics_port", 0}};
}

std::string NewPortFile() {
  static int count = 0;
  const std::string path = absl::StrCat(testing::TempDir(), "/ports-", getpid(), "-", ++count);
  unlink(path.c_str());
  return path;
}

TEST(CoordinatorProcessTest, ServesAtTheWrittenPortAndEndsOnSignalsAlthoughStreamsAreOpen) {
  for (const int signal : {SIGTERM, SIGINT}) {
    const std::string ports = NewPortFile();
    Process process({"--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", "--port-file", ports});
    const nlohmann::json written = AwaitPorts(ports);
    EXPECT_GT(written["metrics_port"], 0);
    const auto channel = MakeChannel(absl::StrCat("127.0.0.1:", written["grpc_port"].get<int>()));
    // An open stream of a worker that has not even registered, and never reads.
    const auto workers = v1::WorkerService::NewStub(channel);
    grpc::ClientContext stream_context;
    const auto stream = workers->Connect(&stream_context);
    const auto jobs = v1::JobService::NewStub(channel);
    grpc::ClientContext context;
    SetDeadline(context);
    v1::ListJobsResponse response;
    EXPECT_TRUE(jobs->ListJobs(&context, {}, &response).ok());
    process.Signal(signal);
    EXPECT_EQ(process.Wait(), 0) << process.log();
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  }
}

TEST(CoordinatorProcessTest, APortThatIsTakenIsOneClearLine) {
  const std::string ports = NewPortFile();
  Process first({"--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", "--port-file", ports});
  const nlohmann::json written = AwaitPorts(ports);
  const std::string grpc_address = absl::StrCat("127.0.0.1:", written["grpc_port"].get<int>());
  Process second({"--listen", grpc_address, "--metrics-listen", ""});
  EXPECT_EQ(second.Wait(), 1);
  EXPECT_EQ(second.log(), absl::StrCat("coordinator: cannot listen at ", grpc_address,
                                       ": the port is taken, or this machine has no such address\n"));
  const std::string metrics_address = absl::StrCat("127.0.0.1:", written["metrics_port"].get<int>());
  Process third({"--listen", "127.0.0.1:0", "--metrics-listen", metrics_address});
  EXPECT_EQ(third.Wait(), 1);
  EXPECT_TRUE(absl::StrContains(third.log(), metrics_address)) << third.log();
}

TEST(CoordinatorProcessTest, FlagsThatCannotWorkAreRefused) {
  const std::vector<std::vector<std::string>> cases = {
      {"--listen", "nonsense"}, {"--listen", "127.0.0.1:70000"},
      {"--listen", ":7070"},    {"--lost-after", "1", "--heartbeat", "1"},
      {"--heartbeat", "0"},     {"--log-level", "loud"},
      {"--no-such-flag"}};
  for (const auto& flags : cases) {
    Process process(flags);
    EXPECT_NE(process.Wait(), 0) << flags[0];
    EXPECT_TRUE(absl::StrContains(process.log(), flags[0])) << process.log();
  }
}

TEST(CoordinatorProcessTest, APortFileThatCannotBeWrittenIsAnError) {
  Process process(
      {"--listen", "127.0.0.1:0", "--metrics-listen", "", "--port-file", "/nonexistent/folder/ports"});
  EXPECT_EQ(process.Wait(), 1);
  EXPECT_TRUE(absl::StrContains(process.log(), "/nonexistent/folder/ports")) << process.log();
}

}  // namespace
}  // namespace sdp::coordinator
