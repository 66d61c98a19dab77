// What all unary handlers have in common.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "common/base/clock.h"
#include "common/metrics/registry.h"
#include "common/rpc/status.h"
#include "coordinator/service/core_runner.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"

namespace sdp::coordinator {

// What unary services work with. Everything outlives them.
struct UnaryContext {
  CoreRunner* runner = nullptr;
  Series* metrics = nullptr;
  const Clock* clock = nullptr;
};

// One unary call: answered once, and measured.
class UnaryCall {
 public:
  // `method` as in "JobService/CreateJob".
  UnaryCall(const UnaryContext& context, grpc::CallbackServerContext* server_context, std::string method)
      : context_(context),
        reactor_(server_context->DefaultReactor()),
        method_(std::move(method)),
        begin_(context.clock->Now()) {}

  grpc::ServerUnaryReactor* reactor() const { return reactor_; }

  void Finish(const absl::Status& status) const {
    context_.metrics->Get(metrics::kRpcSeconds, {method_, absl::StatusCodeToString(status.code())})
        .Observe(absl::ToDoubleSeconds(context_.clock->Now() - begin_));
    reactor_->Finish(ToGrpc(status));
  }

  // Answers with what `decide` finds or does in the core; it fills the response and says how it went through
  // its status. The answer goes out after everything that the core did before is stored.
  grpc::ServerUnaryReactor* AnswerFromCore(
      const std::function<absl::Status(CoordinatorCore& core, absl::Time now, Effects* effects)>& decide)
      const {
    auto status = std::make_shared<absl::Status>();
    grpc::ServerUnaryReactor* const reactor = reactor_;
    context_.runner->Run(
        [&](CoordinatorCore& core, absl::Time now) {
          Effects effects;
          *status = decide(core, now, &effects);
          return effects;
        },
        [call = *this, status] { call.Finish(*status); });
    return reactor;
  }

 private:
  UnaryContext context_;
  grpc::ServerUnaryReactor* reactor_;
  std::string method_;
  absl::Time begin_;
};

}  // namespace sdp::coordinator
