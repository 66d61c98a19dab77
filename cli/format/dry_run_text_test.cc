#include "cli/format/dry_run_text.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sdp::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr int64_t kMiB = 1 << 20;

v1::Plan PlanOf(const std::vector<std::string>& mask, double gap) {
  v1::Plan plan;
  v1::PlanSummary& summary = *plan.mutable_summary();
  for (const std::string& row : mask) {
    plan.add_mask(row);
    plan.add_members()->set_worker("w" + std::to_string(plan.members_size() - 1));
    v1::WorkerCost* cost = summary.add_workers();
    cost->set_peak_memory_bytes(100 * kMiB * plan.members_size());
    cost->set_bytes_per_step(3 * kMiB);
    cost->set_communicators(2);
  }
  summary.set_active_ratio(0.5);
  summary.set_spectral_gap(gap);
  summary.set_spectral_gap_bound(0.8);
  summary.set_masking_error(0.25);
  summary.set_coverage_minimum(1);
  summary.set_memory_imbalance(1.5);
  summary.set_compute_imbalance(1);
  summary.set_component_holder_sets(2);
  summary.set_data_parallel_bytes_per_step(12 * kMiB);
  return plan;
}

TEST(FitsText, SaysWhatWasTriedAndWhyItDoesNotFit) {
  v1::PlanJobResponse response;
  v1::RatioFit* fit = response.add_fits();
  fit->set_active_ratio(1);
  fit->set_peak_memory_bytes(300 * kMiB);
  fit->set_spectral_gap(1);
  fit->set_reason("the long story of budgets");
  fit = response.add_fits();
  fit->set_active_ratio(0.75);
  fit->set_reason("no mask connects the workers");
  fit = response.add_fits();
  fit->set_active_ratio(0.5);
  fit->set_peak_memory_bytes(200 * kMiB);
  fit->set_spectral_gap(0.5);
  fit->set_fits(true);
  EXPECT_EQ(FitsText(response, 256 * kMiB),
            "Active ratios C that were tried for 256 MiB on each worker\n"
            "RATIO  PEAK MEMORY  GAP  FITS\n"
            "1      300 MiB      1    no: 44.0 MiB too much\n"
            "0.75   -            -    no: no mask connects the workers\n"
            "0.5    200 MiB      0.5  yes\n"
            "\n"
            "What follows is for the largest that fits, C = 0.5.\n");
}

v1::PlanJobResponse Compared() {
  v1::PlanJobResponse response;
  *response.mutable_plan() = PlanOf({"10", "01"}, 0.6);
  v1::ComparedPlan* compared = response.add_compared();
  compared->set_generator(v1::MASK_GENERATOR_FULL);
  *compared->mutable_plan() = PlanOf({"11", "11"}, 1);
  compared = response.add_compared();
  compared->set_generator(v1::MASK_GENERATOR_EXPLICIT);
  compared->set_reason("the spec has no masking.matrix");
  compared = response.add_compared();
  compared->set_generator(v1::MASK_GENERATOR_RANDOM);
  *compared->mutable_plan() = PlanOf({"01", "10"}, 0.4);
  return response;
}

TEST(ComparisonText, HasAColumnForEachGeneratorTheSpecsOwnFirst) {
  EXPECT_EQ(ComparisonText(Compared(), v1::MASK_GENERATOR_BALANCED, "", {false, 80}),
            "GENERATOR           balanced  full      explicit  random\n"
            "Active ratio C      0.5       0.5       -         0.5\n"
            "Spectral gap        0.6       1         -         0.4\n"
            "Bound               0.8       0.8       -         0.8\n"
            "Gap / bound         0.75      1.25      -         0.5\n"
            "Masking error       0.25      0.25      -         0.25\n"
            "Coverage            1         1         -         1\n"
            "Most memory         200 MiB   200 MiB   -         200 MiB\n"
            "Sent per step       3.00 MiB  3.00 MiB  -         3.00 MiB\n"
            "Of DDP's bytes      25%       25%       -         25%\n"
            "Memory imbalance    1.5       1.5       -         1.5\n"
            "Compute imbalance   1         1         -         1\n"
            "Holder sets         2         2         -         2\n"
            "Most communicators  2         2         -         2\n"
            "\n"
            "balanced: Mask (rows: workers, columns: blocks)\n"
            "    0 1\n"
            "w0  # .\n"
            "w1  . #\n"
            "\n"
            "explicit gives no plan: the spec has no masking.matrix\n"
            "\n"
            "random: Mask (rows: workers, columns: blocks)\n"
            "    0 1\n"
            "w0  . #\n"
            "w1  # .\n");
}

TEST(ComparisonText, TheSpecsOwnGeneratorIsNotShownTwice) {
  EXPECT_THAT(ComparisonText(Compared(), v1::MASK_GENERATOR_RANDOM, "", {false, 80}),
              HasSubstr("GENERATOR           full      explicit  random\n"));
}

TEST(ComparisonText, TimesAndDeviceMemoryWhenTheyAreKnown) {
  v1::PlanJobResponse response = Compared();
  for (v1::ComparedPlan& compared : *response.mutable_compared()) {
    if (!compared.has_plan()) continue;
    compared.mutable_plan()->mutable_summary()->set_step_seconds_shortest(0.1);
    compared.mutable_plan()->mutable_summary()->set_step_seconds_longest(0.15);
    compared.mutable_plan()->mutable_summary()->mutable_workers(0)->set_communicator_bytes(512 * kMiB);
  }
  const std::string text = ComparisonText(response, v1::MASK_GENERATOR_RANDOM, "fast devices", {false, 80});
  EXPECT_THAT(text, HasSubstr("\nTheir memory        512 MiB           -         512 MiB\n"));
  EXPECT_THAT(text, HasSubstr("\nStep time           100 ms to 150 ms  -         100 ms to 150 ms\n"));
  EXPECT_THAT(text, HasSubstr("\nAssumed: fast devices\n"));
}

v1::MaskSchedule Schedule() {
  v1::MaskSchedule schedule;
  for (int i = 0; i < 2; ++i) {
    v1::ScheduleEntry* entry = schedule.add_entries();
    entry->set_from_step(500 * i);
    entry->set_spectral_gap(0.5 + 0.125 * i);
    entry->set_moved_bytes(i * 3.0 * kMiB);
    entry->set_moved_bytes_lower_bound(i * 2.0 * kMiB);
  }
  schedule.set_mean_gap(0.75);
  schedule.set_product_gap(0.7);
  schedule.set_total_entries(2);
  return schedule;
}

TEST(ScheduleText, ShowsEntriesAndWhatTheyAreTogether) {
  EXPECT_EQ(
      ScheduleText(Schedule(), 500),
      "Schedule: the mask re-drawn every 500 steps. Planned and costed only: a job keeps its first mask.\n"
      "FROM STEP  GAP    MOVED     LEAST MOVED\n"
      "0          0.5    -         -\n"
      "500        0.625  3.00 MiB  2.00 MiB\n"
      "\n"
      "Mean gap:     0.75 of the mean of the averaging operators\n"
      "Product gap:  0.7 of their product in order, per mask\n");
}

TEST(ScheduleText, SaysWhenThereWouldBeMore) {
  v1::MaskSchedule schedule = Schedule();
  schedule.set_total_entries(60);
  EXPECT_THAT(ScheduleText(schedule, 500), HasSubstr("(the first 2 of 60 masks that the job would have)\n"));
}

TEST(ChangeText, ShowsMovesBesideTheLeastAndTheGaps) {
  v1::PlanJobResponse response;
  *response.mutable_plan() = PlanOf({"10", "01"}, 0.6);
  *response.mutable_change()->mutable_plan() = PlanOf({"10", "01", "11"}, 0.55);
  response.mutable_change()->set_moved_bytes(6.0 * kMiB);
  response.mutable_change()->set_moved_bytes_lower_bound(5.0 * kMiB);
  response.mutable_change()->set_fresh_spectral_gap(0.575);
  EXPECT_EQ(ChangeText(response, nullptr),
            "Change from 2 to 3 workers\n"
            "Moves:         6.00 MiB of parameters and moments, 1.2 times the least possible (5.00 MiB)\n"
            "Spectral gap:  0.6 before, 0.55 after, 0.575 with a mask made from nothing\n"
            "Most memory:   200 MiB before, 300 MiB after\n");
  const Terminal terminal;
  EXPECT_THAT(ChangeText(response, &terminal),
              HasSubstr("\nAfterwards: Mask (rows: workers, columns: blocks)\n"
                        "    0 1\n"
                        "w0  # .\n"
                        "w1  . #\n"
                        "w2  # #\n"));
}

TEST(ChangeText, TheLeastItself) {
  v1::PlanJobResponse response;
  response.mutable_change()->set_moved_bytes(5.0 * kMiB);
  response.mutable_change()->set_moved_bytes_lower_bound(5.0 * kMiB);
  EXPECT_THAT(ChangeText(response, nullptr),
              HasSubstr("5.00 MiB of parameters and moments, the least possible\n"));
}

TEST(ChangeText, NothingToMove) {
  const std::string text = ChangeText(v1::PlanJobResponse(), nullptr);
  EXPECT_THAT(text, HasSubstr("Moves:         0 B of parameters and moments; nothing has to move\n"));
  EXPECT_THAT(text, Not(HasSubstr("times")));
}

}  // namespace
}  // namespace sdp::cli
