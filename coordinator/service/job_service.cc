#include "coordinator/service/job_service.h"

#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/status_macros.h"
#include "common/wire/wire.h"
#include "coordinator/service/page.h"
#include "coordinator/service/translate.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"

namespace sdp::coordinator {
namespace {

constexpr int kDefaultPageSize = 50;
constexpr size_t kMaxRequestIdLength = 64;
constexpr size_t kMaxNamePart = 48;  // of a job id, which has at most 63 characters

// The same bytes for the same spec.
std::string CanonicalBytes(const v1::JobSpec& spec) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    spec.SerializeWithCachedSizes(&coded);
  }
  return bytes;
}

absl::Status Submit(const SubmitJob& event, CoordinatorCore& core, absl::Time now, Effects* effects,
                    v1::Job* answer) {
  *effects = core.Step(event, now);
  const Reply& reply = std::get<Reply>(effects->back());
  if (reply.status.ok()) *answer = JobToProto(core.FindJob(reply.job)->job);
  return reply.status;
}

absl::Status FillPage(const CoordinatorCore& core, const v1::ListJobsRequest& request,
                      v1::ListJobsResponse* response) {
  SDP_ASSIGN_OR_RETURN(const int page_size, PageSize(request.page_size(), kDefaultPageSize));
  int64_t before = std::numeric_limits<int64_t>::max();  // the page has jobs of smaller numbers
  if (!request.page_token().empty()) {
    SDP_ASSIGN_OR_RETURN(const std::string position, DecodePageToken("jobs", request.page_token()));
    if (!absl::SimpleAtoi(position, &before)) {
      return absl::InvalidArgumentError("page_token: is not a next_page_token of this listing");
    }
  }
  size_t bytes = 0;
  const auto& jobs = core.jobs();
  for (auto entry = jobs.lower_bound(before); entry != jobs.begin();) {
    --entry;
    if (response->jobs_size() == page_size || bytes > kMaxPageBytes) {
      response->set_next_page_token(EncodePageToken("jobs", absl::StrCat(std::next(entry)->first)));
      break;
    }
    *response->add_jobs() = JobToProto(entry->second.job);
    bytes += response->jobs().rbegin()->ByteSizeLong();
  }
  return absl::OkStatus();
}

}  // namespace

JobId NewJobId(const std::string& display_name) {
  static constexpr absl::string_view kAlphabet = "abcdefghjkmnpqrstuvwxyz23456789";  // none to confuse
  std::random_device random;
  std::uniform_int_distribution<size_t> character(0, kAlphabet.size() - 1);
  std::string id = display_name.substr(0, kMaxNamePart) + "-";
  for (int i = 0; i < 8; ++i) id += kAlphabet[character(random)];
  return JobId(id);
}

grpc::ServerUnaryReactor* JobService::CreateJob(grpc::CallbackServerContext* context,
                                                const v1::CreateJobRequest* request,
                                                v1::CreateJobResponse* response) {
  const UnaryCall call(context_, context, "JobService/CreateJob");
  auto spec = std::make_shared<JobSpec>();
  std::vector<SpecProblem> problems = ValidateSpec(request->spec(), spec.get());
  if (request->request_id().size() > kMaxRequestIdLength) {
    problems.push_back(
        {"request_id", absl::StrCat("has ", request->request_id().size(), " characters; at most ",
                                    kMaxRequestIdLength, ", as in a UUID")});
  }
  if (!problems.empty()) {
    call.Finish(ProblemsToStatus(problems));
    return call.reactor();
  }
  const v1::JobSpec complete = SpecToProto(*spec);
  if (request->validate_only()) {
    *response->mutable_job()->mutable_spec() = complete;
    call.Finish(absl::OkStatus());
    return call.reactor();
  }
  const SubmitJob event{NewJobId(spec->display_name), request->request_id(), CanonicalBytes(complete), spec};
  return call.AnswerFromCore([&](CoordinatorCore& core, absl::Time now, Effects* effects) {
    return Submit(event, core, now, effects, response->mutable_job());
  });
}

grpc::ServerUnaryReactor* JobService::GetJob(grpc::CallbackServerContext* context,
                                             const v1::GetJobRequest* request, v1::GetJobResponse* response) {
  const UnaryCall call(context_, context, "JobService/GetJob");
  return call.AnswerFromCore([&](CoordinatorCore& core, absl::Time, Effects*) -> absl::Status {
    SDP_ASSIGN_OR_RETURN(const JobId id, JobIdFromResourceName(request->name()));
    const CoordinatorCore::JobEntry* entry = core.FindJob(id);
    if (entry == nullptr) return absl::NotFoundError(absl::StrCat("there is no ", request->name()));
    *response->mutable_job() = JobToProto(entry->job);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* JobService::ListJobs(grpc::CallbackServerContext* context,
                                               const v1::ListJobsRequest* request,
                                               v1::ListJobsResponse* response) {
  const UnaryCall call(context_, context, "JobService/ListJobs");
  return call.AnswerFromCore(
      [&](CoordinatorCore& core, absl::Time, Effects*) { return FillPage(core, *request, response); });
}

grpc::ServerUnaryReactor* JobService::CancelJob(grpc::CallbackServerContext* context,
                                                const v1::CancelJobRequest* request,
                                                v1::CancelJobResponse* response) {
  const UnaryCall call(context_, context, "JobService/CancelJob");
  return call.AnswerFromCore([&](CoordinatorCore& core, absl::Time now, Effects* effects) -> absl::Status {
    SDP_ASSIGN_OR_RETURN(const JobId id, JobIdFromResourceName(request->name()));
    *effects = core.Step(coordinator::CancelJob{id}, now);
    const Reply& reply = std::get<Reply>(effects->back());
    if (reply.status.ok()) *response->mutable_job() = JobToProto(core.FindJob(id)->job);
    return reply.status;
  });
}

grpc::ServerWriteReactor<v1::WatchJobResponse>* JobService::WatchJob(grpc::CallbackServerContext*,
                                                                     const v1::WatchJobRequest* request) {
  return watches_.Start(*request);
}

}  // namespace sdp::coordinator
