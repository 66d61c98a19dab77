// What every command is given: the world it runs in, and the options that all commands share.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/format/output.h"
#include "cli/interrupt.h"

namespace sdp::cli {

// The world around the program, so that tests can be it.
struct Environment {
  std::istream& in;
  std::ostream& out;  // data
  std::ostream& err;  // progress, hints and errors
  Interrupt& interrupt;
  bool err_is_terminal = false;
  bool out_is_utf8 = false;
  int out_columns = 80;
  bool color = false;         // of err
  int terminal_columns = 80;  // of err
  absl::TimeZone time_zone = absl::UTCTimeZone();
  // How long a followed job's coordinator may be away before that is an error.
  absl::Duration reconnect_for = absl::Minutes(2);
  // How long completing a word may wait for names from the coordinator.
  absl::Duration completion_patience = absl::Seconds(1);
};

struct GlobalOptions {
  std::string coordinator = "127.0.0.1:7070";
  OutputFormat output = OutputFormat::kTable;
  absl::Duration timeout = absl::ZeroDuration();  // zero: the default of the command
};

// One run of the program.
struct Session {
  Environment& environment;
  GlobalOptions options;
  // Set by the parser to what the arguments ask for. Returns the exit code, or an error to print.
  std::function<absl::StatusOr<int>()> command;

  std::ostream& out() { return environment.out; }
  std::ostream& err() { return environment.err; }
  // INVALID_ARGUMENT when -o name makes no sense for the command.
  absl::Status RefuseNameOutput() const;
  // "sdpctl job watch jobs/a --coordinator host:7070": a command that the user can paste.
  std::string CommandText(const std::string& arguments) const;
};

}  // namespace sdp::cli
