#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/sdpctl_fixture.h"
#include "gmock/gmock.h"

namespace sdp::cli {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;
using testing::StartsWith;

class JobCommands : public SdpctlTest {
 protected:
  JobCommands() {
    coordinator_.create_job = [this](const v1::CreateJobRequest& request, v1::CreateJobResponse* response) {
      created_.push_back(request);
      *response->mutable_job() = JobIn(v1::JOB_STATE_QUEUED);
      if (request.validate_only()) response->mutable_job()->clear_name();
      *response->mutable_job()->mutable_spec() = request.spec();
      return absl::OkStatus();
    };
  }

  std::vector<v1::CreateJobRequest> created_;
};

TEST_F(JobCommands, SubmitPrintsTheJobAndHowToFollowIt) {
  const Result result = Run({"job", "submit", "-f", SpecFile()});
  EXPECT_EQ(result.code, kExitOk);
  EXPECT_THAT(result.out, HasSubstr("jobs/a"));
  EXPECT_THAT(result.out, HasSubstr("queued"));
  EXPECT_THAT(result.err, HasSubstr("sdpctl job watch jobs/a --coordinator 127.0.0.1:"));
  ASSERT_EQ(created_.size(), 1u);
  EXPECT_EQ(created_[0].spec().model().llama().layers(), 8);
  EXPECT_FALSE(created_[0].validate_only());
}

TEST_F(JobCommands, SubmitAsNameIsForScripts) {
  EXPECT_EQ(Run({"job", "submit", "-f", SpecFile(), "-o", "name"}).out, "jobs/a\n");
}

TEST_F(JobCommands, EveryRequestHasAFreshVersionFourUuid) {
  std::set<std::string> ids;
  for (int i = 0; i < 10; ++i) Run({"job", "submit", "-f", SpecFile()});
  for (const v1::CreateJobRequest& request : created_) {
    ids.insert(request.request_id());
    EXPECT_THAT(request.request_id(),
                MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
  }
  EXPECT_EQ(ids.size(), 10u);
}

TEST_F(JobCommands, SubmitReadsStandardInputAndJson) {
  const Result result = Run({"job", "submit", "-f", "-"}, MessageToJson(MinimalSpec()));
  EXPECT_EQ(result.code, kExitOk) << result.err;
  EXPECT_EQ(created_[0].spec().SerializeAsString(), MinimalSpec().SerializeAsString());
}

TEST_F(JobCommands, SubmitChangesFields) {
  const Result result = Run({"job", "submit", "-f", SpecFile(), "--set", "masking.active_ratio=0.5", "--set",
                             "data.train_shards=[/x, /y]", "--set", "stop={tokens: 1e6}", "--seed", "7"});
  EXPECT_EQ(result.code, kExitOk) << result.err;
  const v1::JobSpec& spec = created_[0].spec();
  EXPECT_EQ(spec.masking().active_ratio(), 0.5);
  EXPECT_EQ(spec.data().train_shards(1), "/y");
  EXPECT_EQ(spec.stop().steps(), 0);
  EXPECT_EQ(spec.stop().tokens(), 1'000'000);
  EXPECT_EQ(spec.seed(), 7u);
}

TEST_F(JobCommands, SpecProblemsArePrintedOneALineAndNothingIsSent) {
  const Result result = Run({"job", "submit", "-f",
                             SpecFile("model: {llama: {layers: x, hidden: 10, heads: 4}}\n"
                                      "workers: {minimum: 2}\n"
                                      "stop: {steps: 3}\n"),
                             "--set", "masking.active_ratio=7", "--set", "nonsense", "--seed", "s"});
  EXPECT_EQ(result.code, kExitUsage);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("\n  model.llama.layers: line 1: is \"x\"; must be"));
  EXPECT_THAT(result.err, HasSubstr("\n  workers.minimum: line 2: no such field"));
  EXPECT_THAT(result.err, HasSubstr("\n  model.llama.hidden: is 10; must be a multiple of heads (4)"));
  EXPECT_THAT(result.err, HasSubstr("\n  model.llama.vocab: is required"));
  EXPECT_THAT(result.err, HasSubstr("\n  data.train_shards: is required"));
  EXPECT_THAT(result.err, HasSubstr("\n  masking.active_ratio: is 7"));
  EXPECT_THAT(result.err, HasSubstr("\n  --set nonsense: must be PATH=VALUE"));
  EXPECT_THAT(result.err, HasSubstr("\n  seed: is \"s\""));
  // The field that could not be read is not called missing as well.
  EXPECT_THAT(result.err, Not(HasSubstr("model.llama.layers: is required")));
  EXPECT_TRUE(created_.empty());
}

TEST_F(JobCommands, TextThatIsNoSpecIsOneProblem) {
  const Result result = Run({"job", "submit", "-f", SpecFile("{")});
  EXPECT_EQ(result.code, kExitUsage);
  EXPECT_THAT(result.err, HasSubstr("the spec has 1 problem:\n  line 1, column 1: neither YAML nor JSON"));
}

TEST_F(JobCommands, SpecFileThatCannotBeRead) {
  const Result missing = Run({"job", "submit", "-f", "/nonexistent.yaml"});
  EXPECT_EQ(missing.code, kExitNotFound);
  EXPECT_THAT(missing.err, HasSubstr("cannot open /nonexistent.yaml"));
  const Result folder = Run({"job", "submit", "-f", folder_.path()});
  EXPECT_NE(folder.code, kExitOk);
  EXPECT_THAT(folder.err, HasSubstr(folder_.path()));
  EXPECT_THAT(folder.err, HasSubstr("cannot read"));
}

TEST_F(JobCommands, ProblemsThatOnlyTheCoordinatorSees) {
  coordinator_.create_job = [](const v1::CreateJobRequest&, v1::CreateJobResponse*) {
    return ProblemsToStatus({{"data.train_shards[0]", "no worker has it"}});
  };
  const Result result = Run({"job", "submit", "-f", SpecFile()});
  EXPECT_EQ(result.code, kExitUsage);
  EXPECT_THAT(result.err, HasSubstr("\n  data.train_shards[0]: no worker has it\n"));
}

TEST_F(JobCommands, DryRunCreatesNothing) {
  const Result result = Run({"job", "submit", "-f", SpecFile(), "--dry-run", "-o", "yaml"});
  EXPECT_EQ(result.code, kExitOk);
  EXPECT_TRUE(created_[0].validate_only());
  EXPECT_THAT(result.err, HasSubstr("Nothing was created"));
  EXPECT_THAT(result.out, HasSubstr("seq_len: 128"));
}

TEST_F(JobCommands, SubmitAndWatchShowsEventsAndPrintsTheEnd) {
  coordinator_.watch_job = [](const v1::WatchJobRequest&, const FakeCoordinator::Send& send) {
    send(Event(1, "planned"));
    send(Progress(10));
    send(Progress(100));
    send(Final(v1::JOB_STATE_SUCCEEDED));
    return absl::OkStatus();
  };
  const Result result = Run({"job", "submit", "-f", SpecFile(), "--watch", "-o", "name"});
  EXPECT_EQ(result.code, kExitOk);
  EXPECT_EQ(result.out, "jobs/a\n");
  EXPECT_THAT(result.err, HasSubstr("  planned\n"));
  EXPECT_THAT(result.err, HasSubstr("step 10/100 10%"));
  EXPECT_THAT(result.err, HasSubstr("step 100/100 100%"));
  EXPECT_THAT(result.err, Not(HasSubstr("\033")));
}

TEST_F(JobCommands, SubmitAndWaitIsSilent) {
  coordinator_.watch_job = [](const v1::WatchJobRequest&, const FakeCoordinator::Send& send) {
    send(Event(1, "planned"));
    send(Progress(10));
    send(Final(v1::JOB_STATE_CANCELLED));
    return absl::OkStatus();
  };
  const Result result = Run({"job", "submit", "-f", SpecFile(), "--wait"});
  EXPECT_EQ(result.code, kExitFailed);
  EXPECT_EQ(result.err, "Created jobs/a.\n");
  EXPECT_THAT(result.out, HasSubstr("cancelled"));
}

TEST_F(JobCommands, GetAcceptsTheIdAlone) {
  std::string asked;
  coordinator_.get_job = [&](const v1::GetJobRequest& request, v1::GetJobResponse* response) {
    asked = request.name();
    *response->mutable_job() = JobIn(v1::JOB_STATE_RUNNING);
    return absl::OkStatus();
  };
  EXPECT_THAT(Run({"job", "get", "a"}).out, StartsWith("Name:"));
  EXPECT_EQ(asked, "jobs/a");
  EXPECT_THAT(Run({"job", "get", "jobs/a", "-o", "json"}).out, HasSubstr("\"state\": \"JOB_STATE_RUNNING\""));
  EXPECT_THAT(Run({"-o", "yaml", "job", "get", "jobs/a"}).out, HasSubstr("state: running\n"));
  EXPECT_EQ(Run({"job", "get", "workers/a"}).code, kExitUsage);
}

TEST_F(JobCommands, ListFollowsPages) {
  coordinator_.list_jobs = [](const v1::ListJobsRequest& request, v1::ListJobsResponse* response) {
    const int first = request.page_token().empty() ? 0 : std::stoi(request.page_token());
    const int end = std::min(first + std::min(request.page_size(), 3), 7);
    for (int i = first; i < end; ++i) response->add_jobs()->set_name(absl::StrCat("jobs/", i));
    if (end < 7) response->set_next_page_token(absl::StrCat(end));
    return absl::OkStatus();
  };
  EXPECT_EQ(Run({"job", "list", "-o", "name"}).out,
            "jobs/0\njobs/1\njobs/2\njobs/3\njobs/4\njobs/5\njobs/6\n");
  EXPECT_EQ(Run({"job", "list", "-o", "name", "--limit", "4"}).out, "jobs/0\njobs/1\njobs/2\njobs/3\n");
  EXPECT_THAT(Run({"job", "list"}).out, HasSubstr("NAME"));
  EXPECT_THAT(Run({"job", "list", "-o", "json"}).out, HasSubstr("\"jobs\": ["));
}

TEST_F(JobCommands, EmptyList) {
  coordinator_.list_jobs = [](const v1::ListJobsRequest&, v1::ListJobsResponse*) { return absl::OkStatus(); };
  const Result table = Run({"job", "list"});
  EXPECT_EQ(table.out, "");
  EXPECT_EQ(table.err, "No jobs.\n");
  EXPECT_EQ(Run({"job", "list", "-o", "json"}).out, "{\"jobs\": []}\n");
}

TEST_F(JobCommands, CancelPrintsTheJob) {
  std::string asked;
  coordinator_.cancel_job = [&](const v1::CancelJobRequest& request, v1::CancelJobResponse* response) {
    asked = request.name();
    *response->mutable_job() = JobIn(v1::JOB_STATE_CANCELLING);
    return absl::OkStatus();
  };
  const Result result = Run({"job", "cancel", "a"});
  EXPECT_EQ(result.code, kExitOk);
  EXPECT_EQ(asked, "jobs/a");
  EXPECT_THAT(result.out, HasSubstr("cancelling"));
}

}  // namespace
}  // namespace sdp::cli
