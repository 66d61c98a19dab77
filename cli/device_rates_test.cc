#include "cli/device_rates.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sdp::cli {
namespace {

using testing::HasSubstr;

TEST(ParseLinkBandwidth, ReadsBitsAndBytes) {
  EXPECT_EQ(ParseLinkBandwidth("25Gbit").value_or(0), 25e9 / 8);
  EXPECT_EQ(ParseLinkBandwidth("100 Mbit/s").value_or(0), 100e6 / 8);
  EXPECT_EQ(ParseLinkBandwidth("10Gbps").value_or(0), 10e9 / 8);
  EXPECT_EQ(ParseLinkBandwidth("1e9bit").value_or(0), 1e9 / 8);
  EXPECT_EQ(ParseLinkBandwidth("3GB").value_or(0), 3e9);
  EXPECT_EQ(ParseLinkBandwidth("1.5GiB/s").value_or(0), 1.5 * (1 << 30));
  EXPECT_EQ(ParseLinkBandwidth("512 MB/s").value_or(0), 512e6);
}

TEST(ParseLinkBandwidth, RefusesWhatCouldBeBitsOrBytes) {
  EXPECT_EQ(
      ParseLinkBandwidth("25Gb").status().message(),
      "is \"25Gb\"; must be a number above 0 and a unit of bits or bytes per second, as in 25Gbit, 100Mbit "
      "or 3GB");
  for (const char* text : {"", "25", "25G", "25Gi", "25gb/s", "bit", "Gbit", "0Gbit", "-1Gbit", "25Xbit",
                           "fast", "25Gbit/h", "inf GB"}) {
    EXPECT_THAT(std::string(ParseLinkBandwidth(text).status().message()), HasSubstr("as in 25Gbit")) << text;
  }
}

v1::Job MeasuredJob() {
  v1::Job job;
  job.set_name("jobs/a");
  job.mutable_progress()->set_step_seconds(0.5);
  v1::WorkerCost* fast = job.mutable_plan()->mutable_summary()->add_workers();
  fast->set_flops_per_step(6e9);
  fast->set_relative_speed(2);
  v1::WorkerCost* slow = job.mutable_plan()->mutable_summary()->add_workers();
  slow->set_flops_per_step(4e9);
  slow->set_relative_speed(1);
  return job;
}

TEST(MeasuredFlopsPerSecond, IsThatOfTheWorkerWithMostToDoForItsSpeed) {
  EXPECT_EQ(MeasuredFlopsPerSecond(MeasuredJob()).value_or(0), 8e9);
  v1::Job no_speeds = MeasuredJob();
  for (v1::WorkerCost& cost : *no_speeds.mutable_plan()->mutable_summary()->mutable_workers()) {
    cost.clear_relative_speed();
  }
  EXPECT_EQ(MeasuredFlopsPerSecond(no_speeds).value_or(0), 12e9);
}

TEST(MeasuredFlopsPerSecond, NeedsStepsAndAPlan) {
  v1::Job no_steps = MeasuredJob();
  no_steps.clear_progress();
  EXPECT_EQ(MeasuredFlopsPerSecond(no_steps).status(),
            absl::FailedPreconditionError(
                "jobs/a has no measured steps yet; must be a job that has trained for some steps"));
  v1::Job no_plan = MeasuredJob();
  no_plan.clear_plan();
  EXPECT_FALSE(MeasuredFlopsPerSecond(no_plan).ok());
}

}  // namespace
}  // namespace sdp::cli
