// Names, enum text, suggestions and problems: the small pieces of text handling.
#include <string>

#include "absl/strings/cord.h"
#include "common/wire/enum_text.h"
#include "common/wire/message_yaml.h"
#include "common/wire/suggest.h"
#include "common/wire/wire.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sdp/v1/job.pb.h"

namespace sdp {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(Names, JobsAndWorkersThereAndBack) {
  EXPECT_EQ(JobResourceName(JobId("a-1")), "jobs/a-1");
  EXPECT_EQ(JobIdFromResourceName("jobs/a-1")->value(), "a-1");
  EXPECT_EQ(WorkerResourceName(WorkerName("w.0")), "workers/w.0");
  EXPECT_EQ(WorkerNameFromResourceName("workers/w.0")->value(), "w.0");
}

TEST(Names, OtherFormsAreRefused) {
  for (const char* name :
       {"", "a", "jobs", "jobs/", "workers/a", "jobs/a/b", "jobs/a b", "Jobs/a", "/jobs/a"}) {
    const absl::Status status = JobIdFromResourceName(name).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << name;
    EXPECT_THAT(std::string(status.message()), HasSubstr("jobs/")) << name;
  }
  EXPECT_FALSE(WorkerNameFromResourceName("jobs/a").ok());
}

TEST(Names, NameProblem) {
  EXPECT_EQ(NameProblem("aZ09-_."), "");
  EXPECT_EQ(NameProblem(std::string(63, 'a')), "");
  EXPECT_THAT(NameProblem(""), HasSubstr("1 to 63"));
  EXPECT_NE(NameProblem(std::string(64, 'a')), "");
  EXPECT_NE(NameProblem("a/b"), "");
  EXPECT_NE(NameProblem("\xc3\xa4"), "");
}

TEST(EnumText, ShortNames) {
  EXPECT_EQ(ShortEnumName(v1::JOB_STATE_RUNNING), "running");
  EXPECT_EQ(ShortEnumName(v1::STEP_PHASE_AVERAGE_WAIT), "average_wait");
  EXPECT_EQ(ShortEnumName(static_cast<v1::JobState>(99)), "99");
}

TEST(EnumText, FindsValuesInFullOrShortInAnyCase) {
  const auto& type = *v1::JobState_descriptor();
  EXPECT_EQ(FindEnumValue(type, "running")->number(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(FindEnumValue(type, "Job_State_Running")->number(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(FindEnumValue(type, "state_running"), nullptr);
  EXPECT_EQ(FindEnumValue(type, ""), nullptr);
}

TEST(EnumText, Choices) {
  EXPECT_EQ(EnumChoices(*v1::MaskGenerator_descriptor()), "balanced, explicit, full, random or cyclic");
  EXPECT_EQ(EnumChoices(*v1::MaskingUnit_descriptor()), "block");
}

TEST(ClosestName, FindsMisspellings) {
  const std::vector<std::string> names = {"heads", "kv_heads", "hidden", "seq_len"};
  EXPECT_EQ(ClosestName("headz", names), "heads");
  EXPECT_EQ(ClosestName("kvHeads", names), "kv_heads");
  EXPECT_EQ(ClosestName("sequence_length", names), "");
  EXPECT_EQ(ClosestName("x", names), "");
  EXPECT_EQ(ClosestName("hiden", names), "hidden");
  EXPECT_EQ(ClosestName(std::string(1000, 'h'), names), "");
}

TEST(Problems, TravelInsideTheStatus) {
  const std::vector<SpecProblem> problems = {{"model.llama.heads", "is wrong"}, {"", "all is wrong"}};
  const absl::Status status = ProblemsToStatus(problems);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "model.llama.heads: is wrong\nall is wrong");
  const std::vector<SpecProblem> back = ProblemsFromStatus(status);
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[0].field, "model.llama.heads");
  EXPECT_EQ(back[0].message, "is wrong");
  EXPECT_EQ(back[1].field, "");
}

TEST(Problems, OtherStatusesHaveNone) {
  EXPECT_THAT(ProblemsFromStatus(absl::OkStatus()), IsEmpty());
  EXPECT_THAT(ProblemsFromStatus(absl::InvalidArgumentError("x")), IsEmpty());
  absl::Status garbled = absl::InvalidArgumentError("x");
  garbled.SetPayload("type.googleapis.com/google.rpc.BadRequest", absl::Cord("\xff\xff"));
  EXPECT_THAT(ProblemsFromStatus(garbled), IsEmpty());
}

TEST(MessageToYaml, WritesTimesNumbersAndNestedLists) {
  v1::Job job;
  job.set_name("jobs/a");
  job.set_state(v1::JOB_STATE_RUNNING);
  job.mutable_create_time()->set_seconds(1700000000);
  job.mutable_plan()->add_holder_sets()->add_ranks(0);
  job.mutable_plan()->mutable_holder_sets(0)->add_ranks(1);
  job.mutable_progress()->set_loss(0.1);
  job.mutable_progress()->set_tokens(1ll << 60);
  EXPECT_EQ(MessageToYaml(job),
            "name: jobs/a\n"
            "state: running\n"
            "create_time: \"2023-11-14T22:13:20Z\"\n"
            "plan:\n"
            "  holder_sets:\n"
            "    - ranks: [0, 1]\n"
            "progress:\n"
            "  loss: 0.1\n"
            "  tokens: 1152921504606846976\n");
}

}  // namespace
}  // namespace sdp
