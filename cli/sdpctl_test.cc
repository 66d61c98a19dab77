// The program as a whole: options, errors, exit codes, help, and the smaller commands.
#include "cli/sdpctl.h"

#include <string>

#include "cli/completion.h"
#include "cli/sdpctl_fixture.h"
#include "gmock/gmock.h"

namespace sdp::cli {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

using Sdpctl = SdpctlTest;

TEST_F(Sdpctl, UnreachableCoordinator) {
  std::istringstream in;
  std::ostringstream out, err;
  Environment environment{in, out, err, interrupt_};
  // Port 1 (tcpmux) has no listener on any ordinary machine.
  EXPECT_EQ(RunSdpctl({"job", "list", "--coordinator", "127.0.0.1:1"}, environment), kExitUnreachable);
  EXPECT_EQ(out.str(), "");
  EXPECT_THAT(err.str(), HasSubstr("cannot reach the coordinator at 127.0.0.1:1: Connection refused\n"));
  EXPECT_THAT(err.str(), HasSubstr("SDP_COORDINATOR"));
}

TEST_F(Sdpctl, ExitCodesOfTheCoordinatorsErrors) {
  const std::pair<absl::StatusCode, int> cases[] = {
      {absl::StatusCode::kNotFound, kExitNotFound},      {absl::StatusCode::kPermissionDenied, kExitDenied},
      {absl::StatusCode::kUnauthenticated, kExitDenied}, {absl::StatusCode::kFailedPrecondition, kExitFailed},
      {absl::StatusCode::kInternal, kExitFailed},        {absl::StatusCode::kInvalidArgument, kExitUsage},
      {absl::StatusCode::kCancelled, kExitFailed},       {absl::StatusCode::kUnavailable, kExitUnreachable},
  };
  for (const auto& [status, exit_code] : cases) {
    coordinator_.get_job = [code = status](const v1::GetJobRequest&, v1::GetJobResponse*) {
      return absl::Status(code, "the reason");
    };
    const Result result = Run({"job", "get", "a"});
    EXPECT_EQ(result.code, exit_code) << absl::StatusCodeToString(status);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr("the reason"));
  }
}

TEST_F(Sdpctl, NoAnswerInTime) {
  coordinator_.get_job = [this](const v1::GetJobRequest&, v1::GetJobResponse*) {
    coordinator_.Hang();
    return absl::OkStatus();
  };
  const Result result = RunIntoTimeout({"job", "get", "a"}, "did not answer");
  EXPECT_EQ(result.code, kExitTimeout);
  EXPECT_THAT(result.err, HasSubstr("did not answer"));
}

TEST_F(Sdpctl, ServerOfAnotherVersion) {
  const Result result = Run({"job", "get", "a"});  // not scripted: UNIMPLEMENTED
  EXPECT_EQ(result.code, kExitFailed);
  EXPECT_THAT(result.err, HasSubstr("of another version than this sdpctl"));
}

TEST_F(Sdpctl, CtrlCDuringAnyCall) {
  coordinator_.get_job = [this](const v1::GetJobRequest&, v1::GetJobResponse*) {
    interrupt_.Trigger();
    coordinator_.Hang();
    return absl::OkStatus();
  };
  EXPECT_EQ(Run({"job", "get", "a"}).code, kExitInterrupted);
}

TEST_F(Sdpctl, WrongUseIsExplainedOnTheErrorStream) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{}, "`sdpctl` needs a command: job, plan"},
      {{"job"}, "`job` needs a command: submit, list"},
      {{"job", "lst"}, "no command `lst`; did you mean `list`?"},
      {{"jobs"}, "no command `jobs`; did you mean `job`?"},
      {{"frobnicate"}, "no command `frobnicate`; must be job, plan"},
      {{"job", "get"}, "JOB is required"},
      {{"job", "submit"}, "--file is required"},
      {{"job", "submit", "-f", "x", "--watch", "--wait"}, "excludes"},
      {{"job", "submit", "-f", "x", "--watch", "--dry-run"}, "excludes"},
      {{"job", "list", "-o", "xml"}, "no format \"xml\"; must be table, wide, json, yaml or name"},
      {{"job", "list", "--timeout", "soon"}, "\"soon\" is no time"},
      {{"job", "list", "--timeout", "0"}, "is no time"},
      {{"job", "list", "--timeout", "-5s"}, "is no time"},
      {{"job", "list", "--timeout", "inf"}, "is no time"},
      {{"job", "list", "--limit", "-1"}, "--limit"},
      {{"job", "list", "--nonsense"}, "--nonsense"},
      {{"job", "get", "a b"}, "letters"},
      {{"plan", "-f", "x", "--workers", "0"}, "--workers"},
      {{"plan", "-f", "x", "-o", "name"}, "-o name"},
      {{"completion", "tcsh"}, "must be bash, zsh or fish"},
  };
  for (const auto& [arguments, message] : cases) {
    const Result result = Run(arguments);
    EXPECT_EQ(result.code, kExitUsage) << message;
    EXPECT_EQ(result.out, "") << message;
    EXPECT_THAT(result.err, HasSubstr(message));
  }
}

TEST_F(Sdpctl, HelpAtEachLevelHasExamples) {
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{{},
                                                                                       {"job"},
                                                                                       {"job", "submit"},
                                                                                       {"job", "list"},
                                                                                       {"job", "get"},
                                                                                       {"job", "watch"},
                                                                                       {"job", "wait"},
                                                                                       {"job", "cancel"},
                                                                                       {"plan"},
                                                                                       {"worker"},
                                                                                       {"worker", "list"},
                                                                                       {"worker", "get"},
                                                                                       {"data"},
                                                                                       {"data", "prepare"},
                                                                                       {"completion"}}) {
    std::vector<std::string> arguments = command;
    arguments.push_back("--help");
    const Result result = Run(arguments);
    EXPECT_EQ(result.code, kExitOk);
    EXPECT_EQ(result.err, "");
    EXPECT_THAT(result.out, HasSubstr("Examples:\n  ")) << testing::PrintToString(command);
    EXPECT_THAT(result.out, HasSubstr("--coordinator"));
  }
}

TEST_F(Sdpctl, Version) {
  EXPECT_THAT(Run({"version"}).out, StartsWith("sdpctl 0."));
  EXPECT_THAT(Run({"version", "-o", "json"}).out, HasSubstr("\"protocol_version\": 1"));
  EXPECT_THAT(Run({"version", "-o", "yaml"}).out, StartsWith("version: 0."));
}

TEST_F(Sdpctl, Workers) {
  coordinator_.list_workers = [](const v1::ListWorkersRequest& request, v1::ListWorkersResponse* response) {
    response->add_workers()->set_name(request.page_token().empty() ? "workers/a" : "workers/b");
    if (request.page_token().empty()) response->set_next_page_token("more");
    return absl::OkStatus();
  };
  coordinator_.get_worker = [](const v1::GetWorkerRequest& request, v1::GetWorkerResponse* response) {
    response->mutable_worker()->set_name(request.name());
    return absl::OkStatus();
  };
  const Result names = Run({"worker", "list", "-o", "name"});
  EXPECT_EQ(names.out, "workers/a\nworkers/b\n") << names.err;
  EXPECT_THAT(Run({"worker", "list"}).out, HasSubstr("ADDRESS"));
  EXPECT_EQ(Run({"worker", "get", "a", "-o", "yaml"}).out, "name: workers/a\n");
  EXPECT_THAT(Run({"worker", "get", "workers/a"}).out, StartsWith("Name:"));
}

TEST_F(Sdpctl, NoWorkers) {
  coordinator_.list_workers = [](const v1::ListWorkersRequest&, v1::ListWorkersResponse*) {
    return absl::OkStatus();
  };
  EXPECT_THAT(Run({"worker", "list"}).err, HasSubstr("No workers"));
  EXPECT_EQ(Run({"worker", "list", "-o", "yaml"}).out, "workers: []\n");
}

TEST_F(Sdpctl, CompletionScriptsCallBack) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    EXPECT_THAT(Run({"completion", shell}).out, HasSubstr("sdpctl __complete"));
  }
}

TEST_F(Sdpctl, CompletesCommandsOptionsValuesAndNames) {
  coordinator_.list_jobs = [](const v1::ListJobsRequest&, v1::ListJobsResponse* response) {
    response->add_jobs()->set_name("jobs/a");
    response->add_jobs()->set_name("jobs/b");
    return absl::OkStatus();
  };
  const auto complete = [this](std::vector<std::string> words) {
    std::istringstream in;
    std::ostringstream out, err;
    Environment environment{in, out, err, interrupt_};
    environment.completion_patience = absl::Minutes(1);
    words.insert(words.begin(), "__complete");
    EXPECT_EQ(RunSdpctl(words, environment), kExitOk);
    return out.str();
  };
  EXPECT_EQ(complete({"j"}), "job\n");
  EXPECT_EQ(complete({"job", "w"}), "watch\nwait\n");
  EXPECT_EQ(complete({"-o", "json", "job", "l"}), "list\n");
  EXPECT_EQ(complete({"job", "list", "-o", ""}), "table\nwide\njson\nyaml\nname\n");
  EXPECT_EQ(complete({"job", "submit", "--wa"}), "--watch\n--wait\n");
  EXPECT_EQ(complete({"job", "submit", "--coord"}), "--coordinator\n");
  EXPECT_EQ(complete({"job", "submit", "-f", ""}), "");
  EXPECT_EQ(complete({"completion", "b"}), "bash\n");
  EXPECT_EQ(complete({"plan", "--re"}), "--redraw-every\n");
  EXPECT_EQ(complete({"plan", "--workers", ""}), "live\n");
  EXPECT_EQ(complete({"plan", "--compare", "f"}), "full\n");
  EXPECT_EQ(complete({"plan", "--compare", "full,balanced,"}),
            "full,balanced,explicit\nfull,balanced,random\nfull,balanced,cyclic\n");
  EXPECT_EQ(complete({"--coordinator", coordinator_.address(), "plan", "--measured", ""}),
            "jobs/a\njobs/b\n");
  EXPECT_EQ(complete({"--coordinator", coordinator_.address(), "job", "get", "jobs/"}), "jobs/a\njobs/b\n");
}

}  // namespace
}  // namespace sdp::cli
