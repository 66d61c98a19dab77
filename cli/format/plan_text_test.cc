#include "cli/format/plan_text.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sdp::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

// Two workers, three blocks of 1000 parameters, 1000 shared.
v1::Plan SmallPlan() {
  v1::Plan plan;
  for (const char* name : {"worker-0", "worker-1"}) {
    v1::PlanMember* member = plan.add_members();
    member->set_worker(name);
    member->set_first_sequence(plan.members_size() == 1 ? 0 : 8);
    member->set_sequences(8);
  }
  plan.add_mask("110");
  plan.add_mask("011");
  plan.add_holder_sets()->add_ranks(0);
  plan.mutable_holder_sets(0)->add_ranks(1);
  plan.add_holder_sets()->add_ranks(0);
  v1::Bucket* bucket = plan.add_buckets();
  bucket->set_elements(2000);
  bucket = plan.add_buckets();
  bucket->set_holder_set(1);
  bucket->set_elements(1000);
  v1::PlanSummary* summary = plan.mutable_summary();
  summary->set_active_ratio(2.0 / 3);
  summary->set_spectral_gap(0.5);
  summary->set_spectral_gap_bound(0.625);
  summary->set_spectral_gap_with_shared(0.75);
  summary->set_masking_error(0.25);
  summary->set_coverage_minimum(1);
  summary->set_imbalance(1);
  summary->set_memory_imbalance(1.125);
  summary->set_compute_imbalance(1.25);
  summary->set_parameters(4000);
  summary->set_component_holder_sets(3);
  summary->set_data_parallel_bytes_per_step(16000);
  for (int i = 0; i < 2; ++i) {
    v1::WorkerCost* cost = summary->add_workers();
    cost->set_parameters(3000);
    cost->set_bytes_per_step(8000);
    cost->set_flops_per_step(2.5e9);
    cost->set_peak_memory_bytes(100 << 10);
    cost->set_communicators(1);
    cost->mutable_memory()->set_parameters(12000);
    cost->mutable_memory()->set_gradients(12000);
    cost->mutable_memory()->set_moments(24000);
    cost->mutable_memory()->set_activations(40 << 10);
    cost->mutable_memory()->set_logits_and_loss(8 << 10);
    cost->mutable_memory()->set_workspace(4 << 10);
    cost->mutable_memory()->set_buffers(1 << 10);
  }
  return plan;
}

PlanTextOptions Wide() {
  PlanTextOptions options;
  options.wide = true;
  return options;
}

TEST(PlanText, ShowsWorkersSummaryAndMask) {
  EXPECT_EQ(PlanText(SmallPlan(), {}),
            "RANK  WORKER    SEQUENCES  BLOCKS  PARAMETERS  OF MODEL  MEMORY   FLOP/STEP  SENT/STEP\n"
            "0     worker-0  0-7        2/3     3.00k       75%       100 KiB  2.50G      7.81 KiB\n"
            "1     worker-1  8-15       2/3     3.00k       75%       100 KiB  2.50G      7.81 KiB\n"
            "\n"
            "Model:           4.00k parameters\n"
            "Active ratio:    0.6667 of the blocks on a worker (mean)\n"
            "Spectral gap:    0.5, bound 0.625, gap / bound 0.8; with shared components 0.75\n"
            "Masking error:   0.25 (0: data parallelism, 1: nothing in common)\n"
            "Coverage:        every block has at least 1 holder; its loss would lose the block\n"
            "Bytes per step:  7.81 KiB sent per worker (mean), 50% of data parallelism's 15.6 KiB\n"
            "Imbalance:       parameters 1, memory 1.125, computing time 1.25 (most on a worker / mean)\n"
            "Holder sets:     3 of blocks, 2 with the shared components', in 2 buckets\n"
            "Communicators:   up to 1 on a worker\n"
            "\n"
            "Mask (rows: workers, columns: blocks)\n"
            "          0 1 2\n"
            "worker-0  # # .\n"
            "worker-1  . # #\n");
}

TEST(PlanText, WideSaysWhatMemoryIsFor) {
  EXPECT_THAT(
      PlanText(SmallPlan(), Wide()),
      HasSubstr("RANK  MEMORY   PARAMETERS  GRADIENTS  MOMENTS   ACTIVATIONS  LOGITS    WORKSPACE  BUFFERS   "
                "COMMUNICATORS\n"
                "0     100 KiB  11.7 KiB    11.7 KiB   23.4 KiB  40.0 KiB     8.00 KiB  4.00 KiB   1.00 KiB  "
                "1\n"));
}

TEST(PlanText, WideListsHolderSets) {
  EXPECT_THAT(PlanText(SmallPlan(), Wide()), HasSubstr("HOLDER SET  RANKS  BUCKETS  SIZE\n"
                                                       "0           0,1    1        7.81 KiB\n"
                                                       "1           0      1        3.91 KiB\n"));
}

TEST(PlanText, OneWorkerSendsNothing) {
  v1::Plan plan = SmallPlan();
  plan.mutable_members()->RemoveLast();
  plan.mutable_mask()->RemoveLast();
  plan.mutable_summary()->mutable_workers()->RemoveLast();
  plan.mutable_summary()->clear_data_parallel_bytes_per_step();
  const std::string text = PlanText(plan, {});
  EXPECT_THAT(text, HasSubstr("Bytes per step:  none"));
  EXPECT_THAT(text, Not(HasSubstr("would lose")));
}

TEST(PlanText, AnEmptyPlanIsNoReasonToCrash) { EXPECT_THAT(PlanText(v1::Plan(), Wide()), HasSubstr("RANK")); }

// Unequal workers with budgets, on devices of known speed.
v1::Plan DetailedPlan() {
  v1::Plan plan = SmallPlan();
  v1::PlanSummary* summary = plan.mutable_summary();
  for (int rank = 0; rank < 2; ++rank) {
    v1::WorkerCost* cost = summary->mutable_workers(rank);
    cost->set_relative_speed(2 - rank);
    cost->set_compute_seconds(0.1 * (rank + 1));
    cost->set_averaging_seconds(0.05);
    cost->set_communicator_bytes(256 << 20);
  }
  summary->mutable_workers(0)->set_memory_budget_bytes(128 << 10);
  summary->set_step_seconds_shortest(0.2);
  summary->set_step_seconds_longest(0.25);
  summary->add_reasons("loads follow the budgets");
  summary->add_reasons("the larger worker\nholds more");
  return plan;
}

TEST(PlanText, ShowsBudgetsSpeedsTimesAndReasonsWhenThereAre) {
  PlanTextOptions options;
  options.assumed = "25.0G FLOP/s";
  EXPECT_EQ(
      PlanText(DetailedPlan(), options),
      "RANK  WORKER    SEQUENCES  BLOCKS  PARAMETERS  OF MODEL  MEMORY   BUDGET   USED  SPEED  FLOP/STEP  "
      "COMPUTING  SENT/STEP  AVERAGING\n"
      "0     worker-0  0-7        2/3     3.00k       75%       100 KiB  128 KiB  78%   2      2.50G      "
      "100 ms     7.81 KiB   50.0 ms\n"
      "1     worker-1  8-15       2/3     3.00k       75%       100 KiB  -        -     1      2.50G      "
      "200 ms     7.81 KiB   50.0 ms\n"
      "\n"
      "Model:           4.00k parameters\n"
      "Active ratio:    0.6667 of the blocks on a worker (mean)\n"
      "Spectral gap:    0.5, bound 0.625, gap / bound 0.8; with shared components 0.75\n"
      "Masking error:   0.25 (0: data parallelism, 1: nothing in common)\n"
      "Coverage:        every block has at least 1 holder; its loss would lose the block\n"
      "Bytes per step:  7.81 KiB sent per worker (mean), 50% of data parallelism's 15.6 KiB\n"
      "Imbalance:       parameters 1, memory 1.125, computing time 1.25 (most on a worker / mean)\n"
      "Step time:       200 ms to 250 ms (averaging hidden behind the backward pass, or not at all)\n"
      "Assumed:         25.0G FLOP/s\n"
      "Holder sets:     3 of blocks, 2 with the shared components', in 2 buckets\n"
      "Communicators:   up to 1 on a worker, with 256 MiB of device memory beside the tensors\n"
      "\n"
      "Why this mask:\n"
      "  - loads follow the budgets\n"
      "  - the larger worker holds more\n"
      "\n"
      "Mask (rows: workers, columns: blocks)\n"
      "          0 1 2\n"
      "worker-0  # # .\n"
      "worker-1  . # #\n");
}

TEST(PlanText, WideHasTheDeviceMemoryOfCommunicators) {
  const std::string text = PlanText(DetailedPlan(), Wide());
  EXPECT_THAT(text, HasSubstr("COMMUNICATORS  THEIR MEMORY\n"));
  EXPECT_THAT(text, HasSubstr("1              256 MiB\n"));
}

TEST(PlanText, EqualSpeedsAreNotWorthAColumn) {
  v1::Plan plan = SmallPlan();
  for (v1::WorkerCost& cost : *plan.mutable_summary()->mutable_workers()) cost.set_relative_speed(2);
  EXPECT_THAT(PlanText(plan, {}), Not(HasSubstr("SPEED")));
}

TEST(StepTimeText, IsARangeUnlessItIsNone) {
  v1::PlanSummary summary;
  EXPECT_EQ(StepTimeText(summary), "");
  summary.set_step_seconds_shortest(1.2);
  summary.set_step_seconds_longest(1.2);
  EXPECT_EQ(StepTimeText(summary), "1.20 s");
  summary.set_step_seconds_longest(1.5);
  EXPECT_EQ(StepTimeText(summary), "1.20 s to 1.50 s");
}

}  // namespace
}  // namespace sdp::cli
