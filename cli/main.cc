// sdpctl: the command line of sdp.

#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "cli/exit_code.h"
#include "cli/sdpctl.h"

namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

bool LocaleIsUtf8() {
  std::string locale = Variable("LC_ALL");
  if (locale.empty()) locale = Variable("LC_CTYPE");
  if (locale.empty()) locale = Variable("LANG");
  locale = absl::AsciiStrToLower(locale);
  return absl::StrContains(locale, "utf-8") || absl::StrContains(locale, "utf8");
}

int TerminalColumns(int descriptor) {
  winsize size{};
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

// The variable COLUMNS goes before the terminal, which output need not go to.
int OutputColumns() {
  int columns;
  return absl::SimpleAtoi(Variable("COLUMNS"), &columns) && columns > 0 ? columns
                                                                        : TerminalColumns(STDOUT_FILENO);
}

// Turns SIGINT and SIGTERM into an interrupt; a second one ends the process at once. The thread lives as long
// as the process does.
void HandleSignals(sdp::cli::Interrupt& interrupt) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  // Before any other thread exists, so that all of them inherit it.
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread([signals, &interrupt] {
    int signal = 0;
    sigwait(&signals, &signal);
    interrupt.Trigger();
    sigwait(&signals, &signal);
    _exit(sdp::cli::kExitInterrupted);
  }).detach();
}

}  // namespace

int main(int argc, char** argv) {
  // Never destroyed: the signal thread may use it until the very end.
  auto& interrupt = *new sdp::cli::Interrupt;
  HandleSignals(interrupt);
  sdp::cli::Environment environment{std::cin, std::cout, std::cerr, interrupt};
  environment.err_is_terminal = isatty(STDERR_FILENO) != 0;
  environment.out_is_utf8 = LocaleIsUtf8();
  environment.out_columns = OutputColumns();
  environment.color =
      environment.err_is_terminal && Variable("NO_COLOR").empty() && Variable("TERM") != "dumb";
  environment.terminal_columns = TerminalColumns(STDERR_FILENO);
  environment.time_zone = absl::LocalTimeZone();
  const int code = sdp::cli::RunSdpctl({argv + 1, argv + argc}, environment);
  std::cout.flush();
  if (code == sdp::cli::kExitOk && !std::cout) {
    std::cerr << "sdpctl: cannot write the output\n";
    return sdp::cli::kExitFailed;
  }
  return code;
}
