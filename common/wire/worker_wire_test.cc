#include "common/wire/worker_wire.h"

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "common/wire/test_specs.h"
#include "common/wire/wire.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"
#include "rapidcheck.h"

namespace sdp {

// Field by field: a field that a translation forgets must show. In this namespace for argument-dependent
// lookup.
bool operator==(const ShardFingerprint& a, const ShardFingerprint& b) {
  return std::tie(a.path, a.bytes, a.sampled_hash) == std::tie(b.path, b.bytes, b.sampled_hash);
}
bool operator==(const AssignmentStatus& a, const AssignmentStatus& b) {
  const auto all = [](const AssignmentStatus& s) {
    return std::tie(s.id, s.plan_digest, s.phase, s.committed_steps, s.next_step_ready, s.error,
                    s.suspected_worker, s.shards, s.exported_files);
  };
  return all(a) == all(b);
}
bool operator==(const WorkerCapacity& a, const WorkerCapacity& b) {
  return std::tie(a.device, a.memory_bytes, a.threads, a.relative_speed) ==
         std::tie(b.device, b.memory_bytes, b.threads, b.relative_speed);
}
bool operator==(const Registration& a, const Registration& b) {
  const auto all = [](const Registration& r) {
    return std::tie(r.worker, r.incarnation, r.software_version, r.data_plane_address, r.capacity, r.current);
  };
  return all(a) == all(b);
}
bool operator==(const Heartbeat& a, const Heartbeat& b) {
  return std::tie(a.resident_bytes, a.tensor_bytes) == std::tie(b.resident_bytes, b.tensor_bytes);
}
bool operator==(const CommittedStep& a, const CommittedStep& b) {
  const auto all = [](const CommittedStep& s) {
    return std::tie(s.step, s.loss, s.tokens, s.learning_rate, s.gradient_norm, s.skipped);
  };
  return all(a) == all(b);
}
bool operator==(const PhaseSeconds& a, const PhaseSeconds& b) {
  const auto all = [](const PhaseSeconds& s) {
    return std::tie(s.data, s.forward, s.backward, s.average_wait, s.commit, s.update);
  };
  return all(a) == all(b);
}
bool operator==(const StepReport& a, const StepReport& b) {
  const auto all = [](const StepReport& r) {
    return std::tie(r.id, r.committed_steps, r.phase, r.next_step_ready, r.steps, r.phase_seconds,
                    r.step_seconds, r.peak_tensor_bytes, r.tensor_bytes, r.resident_bytes, r.bytes_sent,
                    r.bytes_received, r.averaging_seconds, r.exposed_averaging_seconds);
  };
  return all(a) == all(b);
}
bool operator==(const EvaluationReport& a, const EvaluationReport& b) {
  const auto all = [](const EvaluationReport& r) {
    return std::tie(r.id, r.outcome.step, r.outcome.full_loss, r.outcome.subnetwork_loss, r.outcome.tokens);
  };
  return all(a) == all(b);
}
bool operator==(const RendezvousAddress& a, const RendezvousAddress& b) {
  return std::tie(a.id, a.rank, a.address) == std::tie(b.id, b.rank, b.address);
}
bool operator==(const Leave& a, const Leave& b) { return a.reason == b.reason; }
bool operator==(const Welcome& a, const Welcome& b) {
  return std::tie(a.heartbeat, a.lost_after, a.coordinator_incarnation) ==
         std::tie(b.heartbeat, b.lost_after, b.coordinator_incarnation);
}
// The round trips of specs and plans have tests of their own.
bool operator==(const Assignment& a, const Assignment& b) {
  using google::protobuf::util::MessageDifferencer;
  return std::tie(a.id, a.rank, a.prepare_timeout, a.collective_timeout) ==
             std::tie(b.id, b.rank, b.prepare_timeout, b.collective_timeout) &&
         MessageDifferencer::Equals(SpecToProto(*a.spec), SpecToProto(*b.spec)) &&
         MessageDifferencer::Equals(PlanToProto(*a.plan), PlanToProto(*b.plan));
}
bool operator==(const Start& a, const Start& b) { return a.id == b.id; }
bool operator==(const Abort& a, const Abort& b) {
  return std::tie(a.id, a.reason) == std::tie(b.id, b.reason);
}

namespace {

using rc::gen::arbitrary;
using rc::gen::inRange;
using testing::HasSubstr;
using testing::StartsWith;

int64_t AnyCount() { return *inRange<int64_t>(0, 1'000'000'000'000); }
double AnyNumber() { return static_cast<double>(*inRange<int64_t>(-1'000'000'000, 1'000'000'000)) / 7; }
std::string AnyText() { return *rc::gen::container<std::string>(inRange<char>(' ', 'z')); }
absl::Duration AnyDuration() { return absl::Milliseconds(*inRange(1, 1'000'000)); }
AssignmentKey AnyKey() {
  return {JobId("job-" + std::to_string(*inRange(0, 1000))), Epoch(*inRange<int64_t>(1, 1000))};
}

AssignmentStatus AnyStatus() {
  AssignmentStatus status;
  status.id = AnyKey();
  status.plan_digest = AnyText();
  status.phase = static_cast<AssignmentPhase>(*inRange(0, static_cast<int>(AssignmentPhase::kAborted) + 1));
  status.committed_steps = AnyCount();
  status.next_step_ready = *arbitrary<bool>();
  if (status.phase == AssignmentPhase::kFailed) {
    status.error = absl::Status(static_cast<absl::StatusCode>(*inRange(1, 17)), AnyText());
    if (*arbitrary<bool>()) status.suspected_worker = WorkerName("peer");
  }
  for (int i = *inRange(0, 3); i > 0; --i) status.shards.push_back({AnyText(), AnyCount(), AnyText()});
  for (int i = *inRange(0, 3); i > 0; --i) status.exported_files.push_back(AnyText());
  return status;
}

Registration AnyRegistration() {
  Registration registration;
  registration.worker = WorkerName("worker-" + std::to_string(*inRange(0, 1000)));
  registration.incarnation = Incarnation(*arbitrary<uint64_t>());
  registration.software_version = AnyText();
  registration.data_plane_address = "10.0.0." + std::to_string(*inRange(0, 256));
  registration.capacity = {AnyText(), AnyCount(), *inRange(0, 1000)};
  if (*arbitrary<bool>()) registration.current = AnyStatus();
  return registration;
}

StepReport AnyStepReport() {
  StepReport report;
  report.id = AnyKey();
  report.committed_steps = AnyCount();
  report.phase = static_cast<StepPhase>(*inRange(0, static_cast<int>(StepPhase::kExport) + 1));
  report.next_step_ready = *arbitrary<bool>();
  for (int i = *inRange(0, 3); i > 0; --i) {
    report.steps.push_back(
        {AnyCount(), AnyNumber(), AnyCount(), AnyNumber(), AnyNumber(), *arbitrary<bool>()});
  }
  PhaseSeconds& seconds = report.phase_seconds;
  for (double* value : {&seconds.data, &seconds.forward, &seconds.backward, &seconds.average_wait,
                        &seconds.commit, &seconds.update, &report.step_seconds, &report.averaging_seconds,
                        &report.exposed_averaging_seconds}) {
    *value = AnyNumber();
  }
  for (int64_t* value : {&report.peak_tensor_bytes, &report.tensor_bytes, &report.resident_bytes,
                         &report.bytes_sent, &report.bytes_received}) {
    *value = AnyCount();
  }
  return report;
}

RendezvousAddress AnyAddress() {
  // Any bytes at all, not only text.
  return {AnyKey(), *inRange(0, 100), *arbitrary<std::string>()};
}

FromWorker AnyFromWorker() {
  switch (*inRange(0, 6)) {
    case 0:
      return Heartbeat{AnyCount(), AnyCount()};
    case 1:
      return AnyStatus();
    case 2:
      return AnyStepReport();
    case 3:
      return EvaluationReport{AnyKey(), {AnyCount(), AnyNumber(), AnyNumber(), AnyCount()}};
    case 4:
      return AnyAddress();
    default:
      return Leave{AnyText()};
  }
}

// Of one worker with two blocks.
Plan SmallPlan() {
  Plan plan;
  plan.epoch = Epoch(1);
  plan.members = {{WorkerName("a"), Incarnation(11), "host-a", 0, 5, {}}};
  plan.mask = Mask::Full(1, 2);
  plan.holder_sets = {{0}};
  plan.buckets = {{0, {0, 1}, 20, 0}};
  plan.digest = "0123456789abcdef";
  return plan;
}

Assignment AnyAssignment() {
  return {AnyKey(),
          std::make_shared<const JobSpec>(*AnyJobSpec()),
          std::make_shared<const Plan>(SmallPlan()),
          *inRange(0, 100),
          AnyDuration(),
          AnyDuration()};
}

ToWorker AnyToWorker() {
  switch (*inRange(0, 5)) {
    case 0:
      return Welcome{AnyDuration(), AnyDuration(), *arbitrary<uint64_t>()};
    case 1:
      return AnyAssignment();
    case 2:
      return Start{AnyKey()};
    case 3:
      return Abort{AnyKey(), AnyText()};
    default:
      return AnyAddress();
  }
}

// What arrives when `proto` is sent.
template <typename Proto>
Proto Sent(const Proto& proto) {
  Proto received;
  RC_ASSERT(received.ParseFromString(proto.SerializeAsString()));
  return received;
}

TEST(RoundTrip, Registration) {
  EXPECT_TRUE(rc::check("registration -> proto -> registration", [] {
    const Registration registration = AnyRegistration();
    const auto back = RegistrationFromProto(Sent(RegistrationToProto(registration)));
    if (!back.ok()) RC_FAIL(back.status().ToString());
    RC_ASSERT(*back == registration);
  }));
}

TEST(RoundTrip, FromWorker) {
  EXPECT_TRUE(rc::check("worker's message -> proto -> message", [] {
    const FromWorker message = AnyFromWorker();
    const auto back = MessageFromProto(Sent(MessageToProto(message)));
    if (!back.ok()) RC_FAIL(back.status().ToString());
    RC_ASSERT(*back == message);
  }));
}

TEST(RoundTrip, ToWorker) {
  EXPECT_TRUE(rc::check("coordinator's message -> proto -> message", [] {
    const ToWorker message = AnyToWorker();
    const auto back = MessageFromProto(Sent(MessageToProto(message)));
    if (!back.ok()) RC_FAIL(back.status().ToString());
    RC_ASSERT(*back == message);
  }));
}

TEST(RoundTrip, AStepThatIsNotFinite) {
  StepReport report;
  report.id = {JobId("j"), Epoch(1)};
  report.steps = {{0, std::nan(""), 5, 0.1, std::numeric_limits<double>::infinity(), true}};
  const auto back = MessageFromProto(MessageToProto(FromWorker(report)));
  ASSERT_TRUE(back.ok()) << back.status();
  const CommittedStep& step = std::get<StepReport>(*back).steps.at(0);
  EXPECT_TRUE(std::isnan(step.loss));
  EXPECT_TRUE(std::isinf(step.gradient_norm));
}

// Fields that are swapped both ways would survive a round trip.
TEST(MessageToProto, EveryFieldOfAStepReportGoesWhereItBelongs) {
  StepReport report;
  report.id = {JobId("j"), Epoch(2)};
  report.committed_steps = 3;
  report.phase = StepPhase::kAverageWait;
  report.next_step_ready = true;
  report.steps = {{2, 2.5, 64, 0.125, 1.5, true}};
  report.phase_seconds = {1, 2, 3, 4, 5, 6};
  report.step_seconds = 7;
  report.peak_tensor_bytes = 8;
  report.tensor_bytes = 9;
  report.resident_bytes = 10;
  report.bytes_sent = 11;
  report.bytes_received = 12;
  report.averaging_seconds = 13;
  report.exposed_averaging_seconds = 14;
  EXPECT_EQ(MessageToProto(FromWorker(report)).ShortDebugString(),
            "step_report { id { job: \"jobs/j\" epoch: 2 } committed_steps: 3 phase: STEP_PHASE_AVERAGE_WAIT "
            "next_step_ready: true steps { step: 2 loss: 2.5 tokens: 64 learning_rate: 0.125 gradient_norm: "
            "1.5 skipped: true } phase_seconds { data: 1 forward: 2 backward: 3 average_wait: 4 commit: 5 "
            "update: 6 } step_seconds: 7 peak_tensor_bytes: 8 tensor_bytes: 9 resident_bytes: 10 bytes_sent: "
            "11 bytes_received: 12 averaging_seconds: 13 exposed_averaging_seconds: 14 }");
}

TEST(MessageToProto, EveryFieldOfOtherMessagesGoesWhereItBelongs) {
  const AssignmentKey id = {JobId("j"), Epoch(2)};
  AssignmentStatus status;
  status.id = id;
  status.plan_digest = "digest";
  status.phase = AssignmentPhase::kFailed;
  status.committed_steps = 3;
  status.next_step_ready = true;
  status.error = absl::NotFoundError("no file");
  status.suspected_worker = WorkerName("peer");
  status.shards = {{"/data/x.bin", 100, "00ff"}};
  status.exported_files = {"model.safetensors"};
  EXPECT_EQ(MessageToProto(FromWorker(status)).ShortDebugString(),
            "assignment_status { id { job: \"jobs/j\" epoch: 2 } plan_digest: \"digest\" phase: "
            "ASSIGNMENT_PHASE_FAILED committed_steps: 3 next_step_ready: true error_code: 5 error_message: "
            "\"no file\" suspected_worker: \"peer\" shards { path: \"/data/x.bin\" bytes: 100 sampled_hash: "
            "\"00ff\" } exported_files: \"model.safetensors\" }");
  EXPECT_EQ(MessageToProto(FromWorker(Heartbeat{1, 2})).ShortDebugString(),
            "heartbeat { resident_bytes: 1 tensor_bytes: 2 }");
  EXPECT_EQ(MessageToProto(FromWorker(EvaluationReport{id, {1, 2.5, 3.5, 4}})).ShortDebugString(),
            "evaluation_report { id { job: \"jobs/j\" epoch: 2 } step: 1 full_loss: 2.5 subnetwork_loss: 3.5 "
            "tokens: 4 }");
  EXPECT_EQ(
      MessageToProto(ToWorker(Welcome{absl::Seconds(1), absl::Seconds(5), 77})).ShortDebugString(),
      "welcome { protocol_version: 1 coordinator_incarnation: 77 heartbeat_seconds: 1 lost_after_seconds: 5 "
      "}");
  Assignment assignment{id,
                        std::make_shared<JobSpec>(),
                        std::make_shared<Plan>(SmallPlan()),
                        1,
                        absl::Seconds(2),
                        absl::Seconds(3)};
  v1::ConnectResponse proto = MessageToProto(ToWorker(assignment));
  proto.mutable_assignment()->clear_spec();
  proto.mutable_assignment()->clear_plan();
  EXPECT_EQ(
      proto.ShortDebugString(),
      "assignment { id { job: \"jobs/j\" epoch: 2 } rank: 1 prepare_seconds: 2 collective_seconds: 3 }");
}

TEST(RegistrationToProto, EveryFieldGoesWhereItBelongs) {
  const Registration registration{WorkerName("a"), Incarnation(7), "1.2", "host", {"cpu", 100, 4, 2}, {}};
  EXPECT_EQ(RegistrationToProto(registration).ShortDebugString(),
            "protocol_version: 1 worker: \"a\" incarnation: 7 software_version: \"1.2\" data_plane_address: "
            "\"host\" capacity { device: \"cpu\" memory_bytes: 100 threads: 4 relative_speed: 2 }");
}

// A message of each kind, to be spoilt.
v1::ConnectRequest Request(const std::string& kind) {
  const AssignmentKey id = {JobId("j"), Epoch(1)};
  if (kind == "status") {
    AssignmentStatus status;
    status.id = id;
    status.shards = {{"/data/x.bin", 100, "00ff"}};
    return MessageToProto(FromWorker(status));
  }
  if (kind == "steps") {
    StepReport report;
    report.id = id;
    report.steps = {{0, 2.5, 64, 0.125, 1.5, false}};
    return MessageToProto(FromWorker(report));
  }
  if (kind == "evaluation") return MessageToProto(FromWorker(EvaluationReport{id, {}}));
  if (kind == "address") return MessageToProto(FromWorker(RendezvousAddress{id, 0, "x"}));
  return MessageToProto(FromWorker(Heartbeat()));
}

void ExpectRefusal(const absl::Status& status, const std::string& message) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), StartsWith(message));
}

struct BadRequest {
  const char* kind;
  std::function<void(v1::ConnectRequest&)> spoil;
  const char* message;
};

const BadRequest kBadRequests[] = {
    {"beat", [](auto& m) { m.mutable_heartbeat()->set_resident_bytes(-1); },
     "heartbeat.resident_bytes: is -1; must be at least 0"},
    {"beat", [](auto& m) { m.mutable_heartbeat()->set_tensor_bytes(-1); }, "heartbeat.tensor_bytes: is -1"},
    {"beat", [](auto& m) { m.clear_message(); }, "an empty message"},
    {"beat", [](auto& m) { m.mutable_register_(); }, "a second Register"},
    {"status", [](auto& m) { m.mutable_assignment_status()->mutable_id()->set_job("j"); },
     "assignment_status.id.job: is \"j\"; must be of the form jobs/NAME"},
    {"status", [](auto& m) { m.mutable_assignment_status()->clear_id(); },
     "assignment_status.id.job: is \"\"; must be of the form jobs/NAME\nassignment_status.id.epoch: is 0"},
    {"status", [](auto& m) { m.mutable_assignment_status()->clear_phase(); },
     "assignment_status.phase: is required"},
    {"status",
     [](auto& m) { m.mutable_assignment_status()->set_phase(static_cast<v1::AssignmentPhase>(99)); },
     "assignment_status.phase: is 99, which this version does not know; must be preparing"},
    {"status", [](auto& m) { m.mutable_assignment_status()->set_committed_steps(-1); },
     "assignment_status.committed_steps: is -1"},
    {"status", [](auto& m) { m.mutable_assignment_status()->mutable_shards(0)->set_bytes(-1); },
     "assignment_status.shards[0].bytes: is -1"},
    {"steps", [](auto& m) { m.mutable_step_report()->mutable_id()->set_epoch(0); },
     "step_report.id.epoch: is 0; must be at least 1"},
    {"steps", [](auto& m) { m.mutable_step_report()->set_committed_steps(-1); },
     "step_report.committed_steps: is -1"},
    {"steps", [](auto& m) { m.mutable_step_report()->set_phase(static_cast<v1::StepPhase>(99)); },
     "step_report.phase: is 99"},
    {"steps", [](auto& m) { m.mutable_step_report()->mutable_steps(0)->set_step(-1); },
     "step_report.steps[0].step: is -1"},
    {"steps", [](auto& m) { m.mutable_step_report()->mutable_steps(0)->set_tokens(-1); },
     "step_report.steps[0].tokens: is -1"},
    {"steps", [](auto& m) { m.mutable_step_report()->mutable_phase_seconds()->set_commit(std::nan("")); },
     "step_report.phase_seconds.commit: is nan; must be a finite number"},
    {"steps", [](auto& m) { m.mutable_step_report()->set_step_seconds(1.0 / 0.0); },
     "step_report.step_seconds: is inf"},
    {"steps", [](auto& m) { m.mutable_step_report()->set_bytes_sent(-1); }, "step_report.bytes_sent: is -1"},
    {"evaluation", [](auto& m) { m.mutable_evaluation_report()->set_step(-1); },
     "evaluation_report.step: is -1"},
    {"evaluation", [](auto& m) { m.mutable_evaluation_report()->set_tokens(-1); },
     "evaluation_report.tokens: is -1"},
    {"address", [](auto& m) { m.mutable_rendezvous()->set_rank(-1); }, "rendezvous.rank: is -1"},
    {"address", [](auto& m) { m.mutable_rendezvous()->mutable_id()->set_job("jobs/a b"); },
     "rendezvous.id.job: is \"jobs/a b\""},
};

TEST(FromWorkerFromProto, RefusesByField) {
  for (const BadRequest& bad : kBadRequests) {
    SCOPED_TRACE(bad.message);
    v1::ConnectRequest proto = Request(bad.kind);
    ASSERT_TRUE(MessageFromProto(proto).ok());
    bad.spoil(proto);
    ExpectRefusal(MessageFromProto(proto).status(), bad.message);
  }
}

// A failure is one, whatever its code says.
TEST(FromWorkerFromProto, AFailureIsNeverOk) {
  AssignmentStatus status;
  status.id = {JobId("j"), Epoch(1)};
  status.phase = AssignmentPhase::kFailed;
  const auto back = MessageFromProto(MessageToProto(FromWorker(status)));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(std::get<AssignmentStatus>(*back).error.code(), absl::StatusCode::kUnknown);
}

struct BadResponse {
  ToWorker message;
  std::function<void(v1::ConnectResponse&)> spoil;
  const char* text;
};

TEST(ToWorkerFromProto, RefusesByField) {
  const AssignmentKey id = {JobId("j"), Epoch(1)};
  v1::JobSpec spec_proto = MinimalSpec();
  JobSpec spec;
  ASSERT_TRUE(ValidateSpec(spec_proto, &spec).empty());
  const ToWorker welcome = Welcome{absl::Seconds(1), absl::Seconds(5), 77};
  const ToWorker assignment = Assignment{id,
                                         std::make_shared<JobSpec>(spec),
                                         std::make_shared<Plan>(SmallPlan()),
                                         0,
                                         absl::Seconds(2),
                                         absl::Seconds(3)};
  const BadResponse bad_responses[] = {
      {welcome, [](auto& m) { m.clear_message(); }, "an empty message"},
      {welcome, [](auto& m) { m.mutable_welcome()->set_heartbeat_seconds(0); },
       "welcome.heartbeat_seconds: is 0; must be a finite number of seconds above 0"},
      {welcome, [](auto& m) { m.mutable_welcome()->set_lost_after_seconds(std::nan("")); },
       "welcome.lost_after_seconds: is nan"},
      {assignment, [](auto& m) { m.mutable_assignment()->clear_id(); }, "assignment.id.job: is \"\""},
      {assignment, [](auto& m) { m.mutable_assignment()->clear_spec(); }, "assignment.spec: model"},
      {assignment, [](auto& m) { m.mutable_assignment()->mutable_plan()->clear_members(); },
       "assignment.plan: members: is empty"},
      {assignment, [](auto& m) { m.mutable_assignment()->set_rank(-1); }, "assignment.rank: is -1"},
      {assignment, [](auto& m) { m.mutable_assignment()->set_prepare_seconds(-1); },
       "assignment.prepare_seconds: is -1"},
      {assignment, [](auto& m) { m.mutable_assignment()->clear_collective_seconds(); },
       "assignment.collective_seconds: is 0"},
      {Start{id}, [](auto& m) { m.mutable_start()->clear_id(); }, "start.id.job: is \"\""},
      {Abort{id, "why"}, [](auto& m) { m.mutable_abort()->mutable_id()->set_epoch(-1); },
       "abort.id.epoch: is -1"},
      {RendezvousAddress{id, 0, "x"}, [](auto& m) { m.mutable_rendezvous()->set_rank(-1); },
       "rendezvous.rank: is -1"},
  };
  for (const BadResponse& bad : bad_responses) {
    SCOPED_TRACE(bad.text);
    v1::ConnectResponse proto = MessageToProto(bad.message);
    const auto before = MessageFromProto(proto);
    ASSERT_TRUE(before.ok()) << before.status();
    bad.spoil(proto);
    ExpectRefusal(MessageFromProto(proto).status(), bad.text);
  }
}

TEST(AssignmentKeyFromProto, NeedsNoMoreThanTheKey) {
  v1::ConnectResponse proto;
  proto.mutable_assignment()->mutable_id()->set_job("jobs/j");
  proto.mutable_assignment()->mutable_id()->set_epoch(3);
  ASSERT_FALSE(MessageFromProto(proto).ok());
  const auto key = AssignmentKeyFromProto(proto.assignment().id());
  ASSERT_TRUE(key.ok()) << key.status();
  EXPECT_EQ(*key, (AssignmentKey{JobId("j"), Epoch(3)}));
  ExpectRefusal(AssignmentKeyFromProto({}).status(), "id.job: is \"\"");
}

v1::Register GoodRegister() {
  return RegistrationToProto({WorkerName("a"), Incarnation(7), "1.2", "host", {"cpu", 100, 4, 2}, {}});
}

TEST(RegistrationFromProto, RefusesByField) {
  v1::Register proto = GoodRegister();
  ASSERT_TRUE(RegistrationFromProto(proto).ok());
  proto.set_worker("a b");
  proto.set_data_plane_address("0.0.0.0");
  proto.mutable_capacity()->set_memory_bytes(-1);
  proto.mutable_capacity()->set_threads(-2);
  proto.mutable_current();
  const std::string text(RegistrationFromProto(proto).status().message());
  for (const char* part : {"register.worker: 'a b' must be",
                           "register.data_plane_address: '0.0.0.0' of worker a b is a wildcard",
                           "register.capacity.memory_bytes: is -1", "register.capacity.threads: is -2",
                           "register.current.id.job: is \"\"", "register.current.phase: is required"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(RegistrationFromProto, AnotherProtocolVersionIsSaidBeforeAnythingElse) {
  v1::Register proto = GoodRegister();
  proto.set_protocol_version(kProtocolVersion + 1);
  proto.set_worker("a b");
  const absl::Status status = RegistrationFromProto(proto).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("both must be of the same release"));
}

}  // namespace
}  // namespace sdp
