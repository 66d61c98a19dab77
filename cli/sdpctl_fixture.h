// Runs sdpctl in the test's process against a scripted coordinator.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "cli/exit_code.h"
#include "cli/fake_coordinator.h"
#include "cli/sdpctl.h"
#include "common/testing/temporary_folder.h"
#include "common/wire/test_specs.h"
#include "common/wire/wire.h"
#include "gtest/gtest.h"

namespace sdp::cli {

class SdpctlTest : public testing::Test {
 protected:
  struct Result {
    int code = 0;
    std::string out;
    std::string err;
  };

  // Runs it with `input` on standard input.
  Result Run(std::vector<std::string> arguments, const std::string& input = "") {
    std::istringstream in(input);
    std::ostringstream out, err;
    Environment environment{in, out, err, interrupt_};
    environment.err_is_terminal = terminal_;
    environment.terminal_columns = 40;
    environment.reconnect_for = reconnect_for_;
    arguments.insert(arguments.end(), {"--coordinator", coordinator_.address()});
    const int code = RunSdpctl(arguments, environment);
    return {code, out.str(), err.str()};
  }

  // Runs a command that the coordinator never answers to the end, with a short --timeout; with longer ones on
  // a machine so busy that in that time it does not get as far as `message`.
  Result RunIntoTimeout(const std::vector<std::string>& arguments, const std::string& message) {
    Result result;
    for (const char* timeout : {"200ms", "2s", "20s"}) {
      std::vector<std::string> with_timeout = arguments;
      with_timeout.insert(with_timeout.end(), {"--timeout", timeout});
      result = Run(with_timeout);
      if (result.err.find(message) != std::string::npos) break;
    }
    return result;
  }

  // A file with MinimalSpec() or with `text`.
  std::string SpecFile(const std::string& text = SpecToYaml(MinimalSpec())) {
    WriteTestFile(folder_ / "spec.yaml", text);
    return folder_ / "spec.yaml";
  }

  static v1::Job JobIn(v1::JobState state) {
    v1::Job job;
    job.set_name("jobs/a");
    job.set_state(state);
    job.mutable_spec()->set_display_name("tiny");
    return job;
  }
  static v1::WatchJobResponse Event(int64_t sequence, const std::string& message) {
    v1::WatchJobResponse response;
    response.mutable_event()->set_sequence(sequence);
    response.mutable_event()->set_state(v1::JOB_STATE_RUNNING);
    response.mutable_event()->set_message(message);
    return response;
  }
  static v1::WatchJobResponse Progress(int64_t step) {
    v1::WatchJobResponse response;
    response.mutable_progress()->set_step(step);
    response.mutable_progress()->set_total_steps(100);
    response.mutable_progress()->set_loss(2.5);
    return response;
  }
  static v1::WatchJobResponse Final(v1::JobState state) {
    v1::WatchJobResponse response;
    *response.mutable_final_job() = JobIn(state);
    return response;
  }

  Interrupt interrupt_;
  bool terminal_ = false;
  absl::Duration reconnect_for_ = absl::Minutes(1);
  TemporaryFolder folder_;
  FakeCoordinator coordinator_;  // last: its threads use the members above
};

}  // namespace sdp::cli
