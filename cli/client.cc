#include "cli/client.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/format/units.h"
#include "common/base/status_macros.h"
#include "common/base/version.h"
#include "common/wire/wire.h"

namespace sdp::cli {
namespace {

constexpr int kPageSize = 200;

absl::Duration UnaryTimeout(const GlobalOptions& options) {
  return options.timeout == absl::ZeroDuration() ? kUnaryDeadline : options.timeout;
}

// What is behind gRPC's "failed to connect to all addresses; last error: UNKNOWN: ipv4:...: Connection
// refused".
std::string Cause(absl::string_view message) {
  const size_t colon = message.rfind(": ");
  const bool nested =
      absl::StartsWith(message, "failed to connect to all addresses") && colon != absl::string_view::npos;
  return std::string(nested ? message.substr(colon + 2) : message);
}

}  // namespace

Client::Client(Session& session)
    : session_(session),
      timeout_(UnaryTimeout(session.options)),
      channel_(MakeChannel(session.options.coordinator)),
      jobs_(v1::JobService::NewStub(channel_)),
      plans_(v1::PlanService::NewStub(channel_)),
      cluster_(v1::ClusterService::NewStub(channel_)) {}

absl::StatusOr<v1::Job> Client::CreateJob(const v1::CreateJobRequest& request) {
  SDP_ASSIGN_OR_RETURN(v1::CreateJobResponse response,
                       Call<v1::JobService::Stub>(*jobs_, &v1::JobService::Stub::CreateJob, request));
  return std::move(*response.mutable_job());
}

absl::StatusOr<v1::Job> Client::GetJob(const std::string& name) {
  v1::GetJobRequest request;
  request.set_name(name);
  SDP_ASSIGN_OR_RETURN(v1::GetJobResponse response,
                       Call<v1::JobService::Stub>(*jobs_, &v1::JobService::Stub::GetJob, request));
  return std::move(*response.mutable_job());
}

absl::StatusOr<v1::Job> Client::CancelJob(const std::string& name) {
  v1::CancelJobRequest request;
  request.set_name(name);
  SDP_ASSIGN_OR_RETURN(v1::CancelJobResponse response,
                       Call<v1::JobService::Stub>(*jobs_, &v1::JobService::Stub::CancelJob, request));
  return std::move(*response.mutable_job());
}

absl::StatusOr<v1::PlanJobResponse> Client::PlanJob(const v1::PlanJobRequest& request) {
  return Call<v1::PlanService::Stub>(*plans_, &v1::PlanService::Stub::PlanJob, request);
}

absl::StatusOr<v1::Worker> Client::GetWorker(const std::string& name) {
  v1::GetWorkerRequest request;
  request.set_name(name);
  SDP_ASSIGN_OR_RETURN(
      v1::GetWorkerResponse response,
      Call<v1::ClusterService::Stub>(*cluster_, &v1::ClusterService::Stub::GetWorker, request));
  return std::move(*response.mutable_worker());
}

absl::StatusOr<std::vector<v1::Job>> Client::ListJobs(int limit) {
  std::vector<v1::Job> jobs;
  v1::ListJobsRequest request;
  do {
    const int left = limit - static_cast<int>(jobs.size());
    request.set_page_size(limit > 0 ? std::min(left, kPageSize) : kPageSize);
    SDP_ASSIGN_OR_RETURN(v1::ListJobsResponse response,
                         Call<v1::JobService::Stub>(*jobs_, &v1::JobService::Stub::ListJobs, request));
    for (v1::Job& job : *response.mutable_jobs()) jobs.push_back(std::move(job));
    request.set_page_token(response.next_page_token());
  } while (!request.page_token().empty() && (limit == 0 || static_cast<int>(jobs.size()) < limit));
  return jobs;
}

absl::StatusOr<std::vector<v1::Worker>> Client::ListWorkers() {
  std::vector<v1::Worker> workers;
  v1::ListWorkersRequest request;
  request.set_page_size(kPageSize);
  do {
    SDP_ASSIGN_OR_RETURN(
        v1::ListWorkersResponse response,
        Call<v1::ClusterService::Stub>(*cluster_, &v1::ClusterService::Stub::ListWorkers, request));
    for (v1::Worker& worker : *response.mutable_workers()) workers.push_back(std::move(worker));
    request.set_page_token(response.next_page_token());
  } while (!request.page_token().empty());
  return workers;
}

absl::Status Client::Explain(const absl::Status& status) const {
  const std::string& address = session_.options.coordinator;
  if (session_.environment.interrupt.triggered()) return absl::CancelledError("interrupted");
  const bool late = status.code() == absl::StatusCode::kDeadlineExceeded;
  const bool connected = channel_->GetState(/*try_to_connect=*/false) == GRPC_CHANNEL_READY;
  if (status.code() == absl::StatusCode::kUnavailable || (late && !connected)) {
    return absl::UnavailableError(absl::StrCat(
        "cannot reach the coordinator at ", address, ": ", Cause(status.message()),
        "\nIs it running there? --coordinator HOST:PORT or the variable SDP_COORDINATOR say where it is."));
  }
  if (late) {
    return absl::DeadlineExceededError(absl::StrCat("the coordinator at ", address, " did not answer within ",
                                                    ShortDuration(timeout_), "; --timeout allows more"));
  }
  if (status.code() == absl::StatusCode::kUnimplemented) {
    return absl::UnimplementedError(absl::StrCat("the server at ", address,
                                                 " does not know this call: it is no "
                                                 "coordinator, or of another version than this sdpctl (",
                                                 kVersion, ")"));
  }
  // A call that was cancelled by somebody else is not the user's Ctrl-C.
  if (status.code() == absl::StatusCode::kCancelled) {
    return absl::AbortedError(absl::StrCat("the call was cancelled by the server: ", status.message()));
  }
  return status;
}

absl::StatusOr<std::string> JobArgument(const std::string& text) {
  const std::string name = absl::StrContains(text, '/') ? text : absl::StrCat("jobs/", text);
  SDP_ASSIGN_OR_RETURN(const JobId id, JobIdFromResourceName(name));
  return JobResourceName(id);
}

absl::StatusOr<std::string> WorkerArgument(const std::string& text) {
  const std::string name = absl::StrContains(text, '/') ? text : absl::StrCat("workers/", text);
  SDP_ASSIGN_OR_RETURN(const WorkerName id, WorkerNameFromResourceName(name));
  return WorkerResourceName(id);
}

}  // namespace sdp::cli
