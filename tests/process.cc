#include "tests/process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/check.h"
#include "common/testing/temporary_folder.h"

extern char** environ;

namespace sdp::testing {
namespace {

constexpr absl::Duration kPollInterval = absl::Milliseconds(10);

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& s : strings) pointers.push_back(s.data());
  pointers.push_back(nullptr);
  return pointers;
}

pid_t Spawn(std::vector<std::string> arguments, const std::string& out_file, const std::string& err_file,
            const Process::Options& options) {
  std::vector<std::string> environment = options.environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.push_back(*entry);
  std::vector<char*> argv = Pointers(arguments);
  std::vector<char*> envp = Pointers(environment);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, out_file.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0644);
  posix_spawn_file_actions_addopen(&actions, 2, err_file.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0644);
  if (!options.working_directory.empty()) {
    posix_spawn_file_actions_addchdir_np(&actions, options.working_directory.c_str());
  }
  pid_t pid = -1;
  // A relative program name would be looked up in the new working directory.
  const std::string program = std::filesystem::absolute(arguments[0]);
  const int error = posix_spawn(&pid, program.c_str(), &actions, nullptr, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&actions);
  SDP_CHECK(error == 0, absl::StrCat("cannot start ", arguments[0], ": ", strerror(error)).c_str());
  return pid;
}

// The value of a "Name:   123 kB" line of /proc/PID/status; -1 when there is none.
int64_t StatusLine(pid_t pid, const std::string& name) {
  std::ifstream in(absl::StrCat("/proc/", pid, "/status"));
  for (std::string line; std::getline(in, line);) {
    if (line.rfind(name + ":", 0) == 0) return std::strtoll(line.c_str() + name.size() + 1, nullptr, 10);
  }
  return -1;
}

}  // namespace

Process::Process(std::vector<std::string> arguments, std::string log_file, Options options)
    : log_file_(std::move(log_file)) {
  pid_ = Spawn(std::move(arguments), log_file_, log_file_, options);
}

Process::~Process() {
  if (reaped_) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void Process::Signal(int signal) {
  SDP_CHECK(!reaped_, "signal to a process that has ended");
  kill(pid_, signal);
}

bool Process::WaitForExit(absl::Duration timeout, int* exit_code) {
  int status = 0;
  reaped_ = Eventually(timeout, [&] { return waitpid(pid_, &status, WNOHANG) == pid_; });
  if (reaped_) *exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return reaped_;
}

std::string Process::Log() const { return ReadTestFile(log_file_); }

int64_t Process::ResidentBytes() const {
  const int64_t kib = StatusLine(pid_, "VmRSS");
  return kib < 0 ? -1 : kib * 1024;
}

int Process::Threads() const { return static_cast<int>(StatusLine(pid_, "Threads")); }

int Process::OpenFiles() const {
  std::error_code error;
  int count = 0;
  for (auto it = std::filesystem::directory_iterator(absl::StrCat("/proc/", pid_, "/fd"), error);
       !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    ++count;
  }
  return error ? -1 : count;
}

Result RunCommand(const std::vector<std::string>& arguments, absl::Duration timeout) {
  const TemporaryFolder folder;
  const std::string out = folder / "out";
  const std::string err = folder / "err";
  const pid_t pid = Spawn(arguments, out, err, {});
  int status = 0;
  Result result;
  if (Eventually(timeout, [&] { return waitpid(pid, &status, WNOHANG) == pid; })) {
    result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  } else {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  result.out = ReadTestFile(out);
  result.err = ReadTestFile(err);
  if (result.exit_code < 0)
    absl::StrAppend(&result.err, "\n(killed after ", absl::FormatDuration(timeout), ")");
  return result;
}

bool Eventually(absl::Duration timeout, const std::function<bool()>& condition) {
  const absl::Time deadline = absl::Now() + timeout;
  while (!condition()) {
    if (absl::Now() >= deadline) return false;
    // Between two looks at something outside this process, which cannot wake us.
    timespec interval = absl::ToTimespec(kPollInterval);
    nanosleep(&interval, nullptr);
  }
  return true;
}

}  // namespace sdp::testing
