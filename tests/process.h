// A real process under test: started, waited for, signalled by its id, and never left behind.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace sdp::testing {

class Process {
 public:
  struct Options {
    std::string working_directory;         // empty: the test's own
    std::vector<std::string> environment;  // NAME=VALUE, added to the test's own
  };

  // Starts `arguments` (the first is the program). What it prints goes to `log_file`, standard output and
  // error together.
  Process(std::vector<std::string> arguments, std::string log_file, Options options = {});
  // Kills the process if it still runs.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  void Signal(int signal);
  // Whether the process ended within `timeout`; then its exit code (128 + n when signal n ended it).
  bool WaitForExit(absl::Duration timeout, int* exit_code);
  std::string Log() const;

  // From /proc; -1 when the process is gone.
  int64_t ResidentBytes() const;
  int Threads() const;
  int OpenFiles() const;

 private:
  pid_t pid_ = -1;
  bool reaped_ = false;
  std::string log_file_;
};

// Runs a command to its end: exit code and what it printed, standard output and error apart.
struct Result {
  int exit_code = -1;
  std::string out;
  std::string err;
};
Result RunCommand(const std::vector<std::string>& arguments, absl::Duration timeout = absl::Seconds(60));

// Calls `condition` until it holds or the deadline has passed; whether it held. For things that only polling
// can see.
bool Eventually(absl::Duration timeout, const std::function<bool()>& condition);

}  // namespace sdp::testing
