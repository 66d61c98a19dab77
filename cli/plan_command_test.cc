// sdpctl plan: what each option asks, and what is printed.
#include "cli/plan_command.h"

#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "cli/sdpctl_fixture.h"
#include "gmock/gmock.h"

namespace sdp::cli {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class PlanCommand : public SdpctlTest {
 protected:
  PlanCommand() {
    coordinator_.plan_job = [this](const v1::PlanJobRequest& request, v1::PlanJobResponse* response) {
      asked_ = request;
      *response = answer_;
      return absl::OkStatus();
    };
    FillPlan(answer_.mutable_plan());
  }

  static void FillPlan(v1::Plan* plan) {
    plan->add_members()->set_worker("worker-0");
    plan->add_mask("1101");
  }

  // Plans with these options; the spec is the smallest one.
  Result RunPlan(std::vector<std::string> options) {
    std::vector<std::string> arguments = {"plan", "-f", SpecFile()};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return Run(arguments);
  }

  // What was asked, without the spec.
  std::string Question() const {
    v1::PlanJobRequest request = asked_;
    request.clear_spec();
    return request.ShortDebugString();
  }

  v1::PlanJobRequest asked_;
  v1::PlanJobResponse answer_;
};

TEST_F(PlanCommand, SendsTheSpecAndDrawsTheMask) {
  const Result result = RunPlan({"--set", "masking.active_ratio=0.5"});
  EXPECT_EQ(result.code, kExitOk) << result.err;
  EXPECT_EQ(asked_.spec().masking().active_ratio(), 0.5);
  EXPECT_EQ(Question(), "");
  EXPECT_THAT(result.out, HasSubstr("worker-0  # # . #\n"));
  EXPECT_THAT(result.out, Not(HasSubstr("Assumed")));
  EXPECT_EQ(result.err, "");
}

TEST_F(PlanCommand, AsksForTheWorkers) {
  EXPECT_EQ(RunPlan({"--workers", "3"}).code, kExitOk);
  EXPECT_EQ(Question(), "workers: 3");
  EXPECT_EQ(RunPlan({"--workers", "live"}).code, kExitOk);
  EXPECT_EQ(Question(), "live_workers: true");
  EXPECT_EQ(RunPlan({"--workers", "2x1GiB@2,1x1GiB"}).code, kExitOk);
  EXPECT_EQ(Question(),
            "worker_groups { count: 2 memory_budget_bytes: 1073741824 relative_speed: 2 } "
            "worker_groups { count: 1 memory_budget_bytes: 1073741824 }");
}

TEST_F(PlanCommand, ChecksTheSpecForTheAskedWorkers) {
  const std::vector<std::string> changes = {"--set", "masking.active_ratio=0.1", "--set",
                                            "batch.global_sequences=16"};
  EXPECT_THAT(RunPlan(changes).err, HasSubstr("masking.active_ratio: is 0.1; must be at least"));
  std::vector<std::string> options = changes;
  options.insert(options.end(), {"--workers", "12x1GiB,4"});
  const Result result = RunPlan(options);
  EXPECT_EQ(result.code, kExitOk) << result.err;
  EXPECT_EQ(asked_.spec().workers().min(), 16);
  EXPECT_EQ(asked_.spec().workers().max(), 16);
}

TEST_F(PlanCommand, FitPrintsWhatWasTriedThenThePlan) {
  v1::RatioFit* fit = answer_.add_fits();
  fit->set_active_ratio(0.5);
  fit->set_fits(true);
  const Result result = RunPlan({"--fit", "24GiB"});
  EXPECT_EQ(Question(), "fit_memory_bytes: 25769803776");
  EXPECT_THAT(result.out, StartsWith("Active ratios C that were tried for 24.0 GiB on each worker\n"));
  EXPECT_THAT(result.out, HasSubstr("C = 0.5.\n\nRANK  WORKER"));
}

TEST_F(PlanCommand, ComparePrintsTheComparisonOnly) {
  for (const v1::MaskGenerator generator : {v1::MASK_GENERATOR_FULL, v1::MASK_GENERATOR_RANDOM}) {
    v1::ComparedPlan* compared = answer_.add_compared();
    compared->set_generator(generator);
    FillPlan(compared->mutable_plan());
  }
  const Result result = RunPlan({"--compare", "full, random,FULL"});
  EXPECT_EQ(Question(), "compare: MASK_GENERATOR_FULL compare: MASK_GENERATOR_RANDOM");
  EXPECT_THAT(result.out, StartsWith("GENERATOR           balanced  full  random\n"));
  EXPECT_THAT(result.out, Not(HasSubstr("RANK")));
}

TEST_F(PlanCommand, RedrawPrintsTheScheduleAfterThePlan) {
  answer_.mutable_schedule()->add_entries()->set_spectral_gap(0.5);
  const Result result = RunPlan({"--redraw-every", "100"});
  EXPECT_EQ(Question(), "redraw_every_steps: 100");
  EXPECT_THAT(result.out, HasSubstr("worker-0  # # . #\n\nSchedule: the mask re-drawn every 100 steps."));
}

TEST_F(PlanCommand, ChangePrintsWhatMovesAndInWideTheMaskAfterwards) {
  FillPlan(answer_.mutable_change()->mutable_plan());
  const Result result = RunPlan({"--change-to", "9"});
  EXPECT_EQ(Question(), "change_to_workers: 9");
  EXPECT_THAT(result.out, HasSubstr("worker-0  # # . #\n\nChange from 1 to 1 workers\nMoves: "));
  EXPECT_THAT(result.out, Not(HasSubstr("Afterwards")));
  EXPECT_THAT(RunPlan({"--change-to", "9", "-o", "wide"}).out, HasSubstr("\nAfterwards: Mask"));
}

TEST_F(PlanCommand, RatesOfDevicesAndLinks) {
  Result result = RunPlan({"--device-flops", "10T", "--link-bandwidth", "10Gbit", "--nccl"});
  EXPECT_EQ(Question(),
            "device { flops_per_second: 10000000000000 link_bytes_per_second: 1250000000 nccl: true }");
  EXPECT_THAT(result.out,
              HasSubstr("Assumed:         10.0T FLOP/s on a worker of speed 1, 10.0Gbit/s links, NCCL's "
                        "communicators\n"));
  result = RunPlan({"--device-flops", "1.5G"});
  EXPECT_THAT(result.out, HasSubstr("1.50G FLOP/s on a worker of speed 1, averaging takes no time\n"));
  result = RunPlan({"--link-bandwidth", "1GB"});
  EXPECT_THAT(result.out, HasSubstr("Assumed:         8.00Gbit/s links, computing takes no time\n"));
}

TEST_F(PlanCommand, MeasuredTakesTheSpeedOfAJob) {
  coordinator_.get_job = [](const v1::GetJobRequest& request, v1::GetJobResponse* response) {
    response->mutable_job()->set_name(request.name());
    if (request.name() == "jobs/new") return absl::OkStatus();
    response->mutable_job()->mutable_progress()->set_step_seconds(0.5);
    response->mutable_job()->mutable_plan()->mutable_summary()->add_workers()->set_flops_per_step(2e9);
    return absl::OkStatus();
  };
  for (const char* name : {"book", "jobs/book"}) {
    const Result result = RunPlan({"--measured", name});
    EXPECT_EQ(Question(), "device { flops_per_second: 4000000000 }");
    EXPECT_THAT(result.out, HasSubstr("4.00G FLOP/s on a worker of speed 1 (measured in jobs/book, averaging "
                                      "included: 500 ms per step)\n"));
  }
  const Result result = RunPlan({"--measured", "new"});
  EXPECT_EQ(result.code, kExitFailed);
  EXPECT_EQ(result.err,
            "sdpctl: jobs/new has no measured steps yet; must be a job that has trained for some steps\n");
}

TEST_F(PlanCommand, JsonIsThePlanOrTheWholeAnswer) {
  answer_.mutable_plan()->mutable_summary()->set_spectral_gap(0.5);
  answer_.mutable_schedule()->set_mean_gap(0.25);
  EXPECT_THAT(RunPlan({"-o", "json"}).out, StartsWith("{\n \"members\": ["));
  const Result nccl = RunPlan({"-o", "yaml", "--nccl"});
  EXPECT_THAT(nccl.out, StartsWith("members:\n"));
  EXPECT_EQ(nccl.err, "Assumed: NCCL's communicators\n");
  const std::vector<std::vector<std::string>> questions = {
      {"--fit", "1GiB"}, {"--compare", "full"}, {"--redraw-every", "5"}, {"--change-to", "5"}};
  for (std::vector<std::string> question : questions) {
    question.insert(question.end(), {"-o", "yaml"});
    const Result result = RunPlan(question);
    EXPECT_THAT(result.out, StartsWith("plan:\n")) << question[0];
    EXPECT_THAT(result.out, HasSubstr("schedule:\n  mean_gap: 0.25\n"));
  }
}

TEST_F(PlanCommand, SvgIsWrittenToTheFile) {
  const std::string path = folder_ / "mask.svg";
  const Result result = RunPlan({"--svg", path, "-o", "json"});
  EXPECT_EQ(result.code, kExitOk);
  EXPECT_EQ(result.err, "The mask's picture is in " + path + ".\n");
  EXPECT_THAT(result.out, StartsWith("{\n"));
  std::ifstream file(path);
  const std::string svg((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_THAT(svg, StartsWith("<svg "));
  EXPECT_THAT(svg, HasSubstr("Mask: 1 worker, 4 blocks"));
}

TEST_F(PlanCommand, SvgThatCannotBeWritten) {
  const std::string path = folder_ / "none/mask.svg";
  const Result result = RunPlan({"--svg", path});
  EXPECT_EQ(result.code, kExitNotFound);
  EXPECT_THAT(result.err, HasSubstr(path));
  EXPECT_THAT(result.out, HasSubstr("worker-0"));  // the plan is shown all the same
  EXPECT_EQ(RunPlan({"--svg", folder_ / ""}).code, kExitFailed);
}

TEST_F(PlanCommand, WrongValuesNameTheOptionAndWhatWouldBeRight) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"--workers", "4x"}, "--workers: \"4x\": the memory is \"\"; must be a number of bytes"},
      {{"--workers", "0"}, "Possible are 8 (equal workers), 4x80GiB,4x40GiB"},
      {{"--fit", "lots"}, "--fit: is \"lots\"; must be a number of bytes above 0"},
      {{"--compare", "full,randm"},
       "--compare: no generator \"randm\" (did you mean random?); must be one or several "
       "of balanced, explicit, full, random or cyclic"},
      {{"--compare", "unspecified"}, "--compare: no generator \"unspecified\""},
      {{"--compare", "full,"}, "--compare: no generator \"\"; must be"},
      {{"--redraw-every", "0"}, "--redraw-every: is \"0\"; must be a whole number above 0"},
      {{"--redraw-every", "1.5"}, "--redraw-every: is \"1.5\""},
      {{"--change-to", "many"}, "--change-to: is \"many\"; must be a whole number above 0"},
      {{"--device-flops", "-1T"}, "--device-flops: is \"-1T\"; must be a number above 0"},
      {{"--link-bandwidth", "25Gb"},
       "--link-bandwidth: is \"25Gb\"; must be a number above 0 and a unit of bits or "
       "bytes per second, as in 25Gbit"},
      {{"--measured", "a b"}, "letters"},
      {{"--measured", "a", "--device-flops", "1T"}, "--measured"},
  };
  for (const auto& [options, message] : cases) {
    const Result result = RunPlan(options);
    EXPECT_EQ(result.code, kExitUsage) << message;
    EXPECT_EQ(result.out, "") << message;
    EXPECT_THAT(result.err, HasSubstr(message));
  }
  EXPECT_EQ(asked_.ByteSizeLong(), 0);
}

TEST_F(PlanCommand, HelpHasAnExampleOfEachOption) {
  const std::string help = Run({"plan", "--help"}).out;
  for (const char* example :
       {"--workers 4x80GiB@2,4x40GiB", "--workers live", "--fit 24GiB", "--compare full,random,balanced",
        "--svg mask.svg", "--device-flops 100T --link-bandwidth 25Gbit --nccl", "--measured jobs/book-1",
        "--redraw-every 500", "--change-to 9", "-o json | jq .summary.spectral_gap"}) {
    EXPECT_THAT(help, HasSubstr(example));
  }
}

TEST_F(PlanCommand, SaysWhenTheLastRoundIsShorter) {
  coordinator_.plan_job = [](const v1::PlanJobRequest&, v1::PlanJobResponse*) { return absl::OkStatus(); };
  const Result result =
      Run({"plan", "-f", SpecFile(), "--set", "averaging={mode: parameters, every_steps: 7}"});
  EXPECT_THAT(result.err,
              HasSubstr("300 steps are no multiple of averaging.every_steps (7); the last round has 6."));
}

TEST_F(PlanCommand, ThatIsNotPossible) {
  coordinator_.plan_job = [](const v1::PlanJobRequest&, v1::PlanJobResponse*) {
    return absl::FailedPreconditionError("no mask covers the model");
  };
  const Result result = Run({"plan", "-f", SpecFile()});
  EXPECT_EQ(result.code, kExitFailed);
  EXPECT_EQ(result.err, "sdpctl: no mask covers the model\n");
}

}  // namespace
}  // namespace sdp::cli
