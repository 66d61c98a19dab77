#include "cli/format/job_text.h"

#include "cli/format/output.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sdp::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'600);

v1::Job RunningJob() {
  v1::Job job;
  job.set_name("jobs/a");
  job.set_state(v1::JOB_STATE_RUNNING);
  job.set_state_reason("all 2 workers train");
  job.mutable_spec()->set_display_name("tiny");
  job.mutable_spec()->set_output_directory("/out");
  job.mutable_create_time()->set_seconds(1'700'000'000);
  job.mutable_plan()->set_epoch(1);
  job.mutable_plan()->add_members()->set_worker("w0");
  job.mutable_plan()->add_members()->set_worker("w1");
  job.mutable_plan()->mutable_summary()->set_active_ratio(0.5);
  v1::JobProgress* progress = job.mutable_progress();
  progress->set_step(120);
  progress->set_total_steps(400);
  progress->set_loss(2.34567);
  progress->set_tokens_per_second(12345);
  progress->set_eta_seconds(65);
  progress->set_peak_tensor_bytes(45 << 20);
  progress->set_bytes_per_step(1.5 * 1024 * 1024);
  progress->set_hidden_averaging_ratio(0.8);
  v1::WorkerProgress* worker = progress->add_workers();
  worker->set_worker("w0");
  worker->set_step(120);
  worker->set_phase(v1::STEP_PHASE_AVERAGE_WAIT);
  return job;
}

v1::Job EndedJob() {
  v1::Job job = RunningJob();
  job.set_state(v1::JOB_STATE_SUCCEEDED);
  job.mutable_evaluation()->set_step(400);
  job.mutable_evaluation()->set_full_loss(1.742);
  job.mutable_evaluation()->add_subnetwork_losses(1.61);
  job.mutable_evaluation()->add_subnetwork_losses(1.60);
  job.add_exported_files("model.safetensors");
  job.add_exported_files("config.json");
  return job;
}

TEST(JobTable, OneRowPerJob) {
  v1::Job queued;
  queued.set_name("jobs/b");
  queued.set_state(v1::JOB_STATE_QUEUED);
  queued.mutable_spec()->set_display_name("next");
  queued.mutable_spec()->mutable_workers()->set_min(2);
  queued.mutable_spec()->mutable_workers()->set_max(4);
  EXPECT_EQ(JobTable({RunningJob(), queued}, /*wide=*/false, kNow),
            "NAME    DISPLAY NAME  STATE    STEP     LOSS   WORKERS  AGE\n"
            "jobs/a  tiny          running  120/400  2.346  2        10m00s\n"
            "jobs/b  next          queued   -        -      2-4      -\n");
}

TEST(JobTable, WideAddsFiguresAndReason) {
  const std::string table = JobTable({EndedJob()}, /*wide=*/true, kNow);
  for (const char* cell : {"1.742", "12.3k", "45.0 MiB", "1.50 MiB", "all 2 workers train"}) {
    EXPECT_THAT(table, HasSubstr(cell));
  }
}

TEST(DescribeJob, ShowsWhatIsKnown) {
  const std::string text = DescribeJob(RunningJob(), /*wide=*/false, kNow, absl::UTCTimeZone());
  EXPECT_THAT(text, HasSubstr("State:               running: all 2 workers train\n"));
  EXPECT_THAT(text, HasSubstr("2023-11-14 22:13:20 UTC (10m00s ago)"));
  EXPECT_THAT(text, HasSubstr("120/400"));
  EXPECT_THAT(text, HasSubstr("2.3457 nats/token"));
  EXPECT_THAT(text, HasSubstr("1m05s"));
  EXPECT_THAT(text, HasSubstr("1.50 MiB sent per worker and step, 80% of the time hidden"));
  EXPECT_THAT(text, Not(HasSubstr("Validation")));
  EXPECT_THAT(text, Not(HasSubstr("Skipped")));
  EXPECT_THAT(text, Not(HasSubstr("RANK")));
}

TEST(DescribeJob, EndedJobHasItsResults) {
  const std::string text = DescribeJob(EndedJob(), /*wide=*/true, kNow, absl::UTCTimeZone());
  EXPECT_THAT(text,
              HasSubstr("1.7420 nats/token of the full model after step 400; subnetworks 1.6000 to 1.6100"));
  EXPECT_THAT(text, HasSubstr("model.safetensors, config.json"));
  EXPECT_THAT(text, Not(HasSubstr("Ends in")));
  EXPECT_THAT(text, HasSubstr("average_wait"));
}

TEST(EventLine, HasTimeStateSubjectAndReason) {
  v1::JobEvent event;
  event.mutable_time()->set_seconds(1'700'000'000);
  event.set_state(v1::JOB_STATE_FAILING);
  event.set_kind(v1::JOB_EVENT_KIND_WORKER_FAILED);
  event.set_message("lost:\nno heartbeat for 5s");
  event.set_worker("w1");
  event.set_step(37);
  EXPECT_EQ(EventLine(event, absl::UTCTimeZone()),
            "22:13:20  failing     w1: step 37: lost: no heartbeat for 5s");
}

TEST(EventLine, WithoutMessageTheKindSpeaks) {
  v1::JobEvent event;
  event.set_state(v1::JOB_STATE_QUEUED);
  event.set_kind(v1::JOB_EVENT_KIND_WAITING);
  EXPECT_EQ(EventLine(event, absl::UTCTimeZone()), "00:00:00  queued      waiting");
}

TEST(ProgressLine, ShowsEverythingOnceThereAreSteps) {
  v1::JobProgress progress = RunningJob().progress();
  EXPECT_EQ(ProgressLine(progress),
            "step 120/400 30%  loss 2.3457  12.3k tokens/s  ETA 1m05s  peak 45.0 MiB  sent 1.50 MiB/step");
  progress.set_skipped_steps(2);
  progress.set_eta_seconds(0);
  EXPECT_THAT(ProgressLine(progress), HasSubstr("ETA -  "));
  EXPECT_THAT(ProgressLine(progress), HasSubstr("  skipped 2"));
  progress.set_step(0);
  EXPECT_EQ(ProgressLine(progress), "step 0/400 0%");
}

TEST(IsTerminal, ExactlyTheThreeEnds) {
  for (int state = v1::JobState_MIN; state <= v1::JobState_MAX; ++state) {
    EXPECT_EQ(IsTerminal(static_cast<v1::JobState>(state)), state >= v1::JOB_STATE_SUCCEEDED) << state;
  }
}

TEST(Output, JsonHasTheProtosFieldNames) {
  v1::Job job;
  job.set_name("jobs/a");
  job.set_state(v1::JOB_STATE_RUNNING);
  job.set_state_reason("r");
  EXPECT_EQ(StructuredText(job, OutputFormat::kJson),
            "{\n \"name\": \"jobs/a\",\n \"state\": \"JOB_STATE_RUNNING\",\n \"state_reason\": \"r\"\n}\n");
  EXPECT_EQ(StructuredText(job, OutputFormat::kYaml), "name: jobs/a\nstate: running\nstate_reason: r\n");
  EXPECT_EQ(EmptyListText("jobs", OutputFormat::kJson), "{\"jobs\": []}\n");
  EXPECT_EQ(EmptyListText("jobs", OutputFormat::kYaml), "jobs: []\n");
}

}  // namespace
}  // namespace sdp::cli
