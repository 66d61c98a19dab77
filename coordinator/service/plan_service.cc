#include "coordinator/service/plan_service.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/quantities.h"
#include "common/base/status_macros.h"
#include "common/wire/wire.h"
#include "coordinator/service/plan_translate.h"

namespace sdp::coordinator {
namespace {

// What clients receive at most (gRPC's default), with some room for the envelope.
constexpr size_t kMaxAnswerBytes = 4'000'000;
// Plans that are made at a time: a small one need not wait for a large one.
constexpr int kThreads = 2;
constexpr int kMaxWaiting = 64;

}  // namespace

PlanService::PlanService(const UnaryContext& context) : context_(context), queue_(kThreads, kMaxWaiting) {}

grpc::ServerUnaryReactor* PlanService::PlanJob(grpc::CallbackServerContext* context,
                                               const v1::PlanJobRequest* request,
                                               v1::PlanJobResponse* response) {
  const UnaryCall call(context_, context, "PlanService/PlanJob");
  grpc::ServerUnaryReactor* const reactor = call.reactor();
  const bool added = queue_.Add([this, call, context, request, response] {
    call.Finish(context->IsCancelled() ? absl::CancelledError("nobody waits for the plan any more")
                                       : Plan(*request, response));
  });
  if (!added) {
    call.Finish(absl::ResourceExhaustedError(
        absl::StrCat(kMaxWaiting, " other plans are waiting to be made; try again later")));
  }
  return reactor;
}

absl::Status PlanService::Plan(const v1::PlanJobRequest& request, v1::PlanJobResponse* response) const {
  std::vector<SpecProblem> problems;
  DryRunQuestion question = QuestionFromProto(request, problems);
  if (!problems.empty()) return ProblemsToStatus(problems);
  if (request.live_workers()) {
    SDP_ASSIGN_OR_RETURN(question.members, LiveMembers(question.spec.workers));
  }
  SDP_ASSIGN_OR_RETURN(const DryRun run, PlanDryRun(question));
  *response = AnswerToProto(run);
  if (response->ByteSizeLong() <= kMaxAnswerBytes) return absl::OkStatus();
  const auto bytes = static_cast<double>(response->ByteSizeLong());
  response->Clear();
  return absl::ResourceExhaustedError(
      absl::StrCat("the answer has ", FormatBytes(bytes), ", more than fits into a message (",
                   FormatBytes(kMaxAnswerBytes), "); ask for fewer workers or for less beside the plan"));
}

absl::StatusOr<std::vector<PlanMember>> PlanService::LiveMembers(const WorkersSpec& spec) const {
  std::vector<PlanMember> members;
  context_.runner->Run([&](CoordinatorCore& core, absl::Time) {
    for (const auto& [name, worker] : core.membership().workers()) {
      if (worker.state == WorkerState::kLost || static_cast<int>(members.size()) == spec.max) continue;
      members.push_back(MemberOf(worker));
    }
    return Effects();
  });
  if (static_cast<int>(members.size()) >= spec.min) return members;
  return absl::FailedPreconditionError(absl::StrCat(
      "the job needs ", spec.min, " workers (workers.min), and ", members.size(), " are in the cluster"));
}

}  // namespace sdp::coordinator
