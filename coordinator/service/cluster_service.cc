#include "coordinator/service/cluster_service.h"

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/wire/wire.h"
#include "coordinator/service/page.h"
#include "coordinator/service/translate.h"

namespace sdp::coordinator {
namespace {

constexpr int kDefaultPageSize = 100;

absl::Status FillPage(const CoordinatorCore& core, const v1::ListWorkersRequest& request,
                      v1::ListWorkersResponse* response) {
  SDP_ASSIGN_OR_RETURN(const int page_size, PageSize(request.page_size(), kDefaultPageSize));
  std::string after;  // the page has workers of larger names
  if (!request.page_token().empty()) {
    SDP_ASSIGN_OR_RETURN(after, DecodePageToken("workers", request.page_token()));
  }
  const auto& workers = core.membership().workers();
  for (auto entry = workers.upper_bound(WorkerName(after)); entry != workers.end(); ++entry) {
    if (response->workers_size() == page_size) {
      response->set_next_page_token(EncodePageToken("workers", std::prev(entry)->first.value()));
      break;
    }
    *response->add_workers() = WorkerToProto(entry->second);
  }
  return absl::OkStatus();
}

}  // namespace

grpc::ServerUnaryReactor* ClusterService::ListWorkers(grpc::CallbackServerContext* context,
                                                      const v1::ListWorkersRequest* request,
                                                      v1::ListWorkersResponse* response) {
  const UnaryCall call(context_, context, "ClusterService/ListWorkers");
  return call.AnswerFromCore(
      [&](CoordinatorCore& core, absl::Time, Effects*) { return FillPage(core, *request, response); });
}

grpc::ServerUnaryReactor* ClusterService::GetWorker(grpc::CallbackServerContext* context,
                                                    const v1::GetWorkerRequest* request,
                                                    v1::GetWorkerResponse* response) {
  const UnaryCall call(context_, context, "ClusterService/GetWorker");
  return call.AnswerFromCore([&](CoordinatorCore& core, absl::Time, Effects*) -> absl::Status {
    SDP_ASSIGN_OR_RETURN(const WorkerName name, WorkerNameFromResourceName(request->name()));
    const WorkerRecord* worker = core.membership().Find(name);
    if (worker == nullptr) return absl::NotFoundError(absl::StrCat("there is no ", request->name()));
    *response->mutable_worker() = WorkerToProto(*worker);
    return absl::OkStatus();
  });
}

}  // namespace sdp::coordinator
