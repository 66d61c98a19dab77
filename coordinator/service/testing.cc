#include "coordinator/service/testing.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/rpc/options.h"
#include "common/wire/wire.h"
#include "coordinator/state/transcript.h"

namespace sdp::coordinator {

TestServer::TestServer() {
  ServerOptions options;
  options.planner = PlanForTest;
  options.tick_interval = absl::ZeroDuration();
  options.incarnation = 77;
  options.clock = &clock_;
  options.store = &store_;
  options.registry = &registry_;
  auto server = CoordinatorServer::Start(std::move(options));
  SDP_CHECK(server.ok(), std::string(server.status().message()).c_str());
  server_ = *std::move(server);
  jobs_ = v1::JobService::NewStub(NewChannel());
  plans_ = v1::PlanService::NewStub(NewChannel());
  cluster_ = v1::ClusterService::NewStub(NewChannel());
}

std::shared_ptr<grpc::Channel> TestServer::NewChannel() const {
  return MakeChannel(absl::StrCat("127.0.0.1:", server_->port()));
}

void TestServer::Advance(absl::Duration duration) {
  clock_.Advance(duration);
  server_->Tick();
}

bool TestServer::TickUntil(const std::function<bool()>& condition) {
  const absl::Time deadline = absl::Now() + kPatience;
  while (!condition()) {
    if (absl::Now() > deadline) return false;
    Advance(absl::Microseconds(1));
  }
  return true;
}

std::string TestServer::CreateJob(int workers, int steps) {
  v1::CreateJobRequest request;
  *request.mutable_spec() = TestSpec(workers, steps);
  v1::CreateJobResponse response;
  grpc::ClientContext context;
  SetDeadline(context);
  const grpc::Status status = jobs_->CreateJob(&context, request, &response);
  SDP_CHECK(status.ok(), status.error_message().c_str());
  return response.job().name();
}

v1::Job TestServer::GetJob(const std::string& name) {
  v1::GetJobRequest request;
  request.set_name(name);
  v1::GetJobResponse response;
  grpc::ClientContext context;
  SetDeadline(context);
  const grpc::Status status = jobs_->GetJob(&context, request, &response);
  SDP_CHECK(status.ok(), status.error_message().c_str());
  return response.job();
}

v1::WorkerState TestServer::StateOf(const std::string& worker) {
  v1::GetWorkerRequest request;
  request.set_name("workers/" + worker);
  v1::GetWorkerResponse response;
  grpc::ClientContext context;
  SetDeadline(context);
  const grpc::Status status = cluster_->GetWorker(&context, request, &response);
  return status.ok() ? response.worker().state() : v1::WORKER_STATE_UNSPECIFIED;
}

v1::JobSpec TestSpec(int workers, int steps) {
  v1::JobSpec spec;
  spec.set_display_name("test");
  v1::LlamaSpec* llama = spec.mutable_model()->mutable_llama();
  llama->set_layers(2);
  llama->set_hidden(8);
  llama->set_heads(2);
  llama->set_ffn(16);
  llama->set_vocab(256);
  llama->set_seq_len(16);
  spec.mutable_data()->add_train_shards("/data/train.bin");
  spec.mutable_batch()->set_global_sequences(8);
  spec.mutable_stop()->set_steps(steps);
  spec.mutable_workers()->set_min(workers);
  spec.mutable_workers()->set_max(workers);
  spec.set_output_directory("/out");
  return spec;
}

v1::Register FakeWorker::Registration(const std::string& name, uint64_t incarnation) {
  v1::Register registration;
  registration.set_protocol_version(kProtocolVersion);
  registration.set_worker(name);
  registration.set_incarnation(incarnation);
  registration.set_software_version("test");
  registration.set_data_plane_address("127.0.0.1");
  registration.mutable_capacity()->set_device("cpu");
  registration.mutable_capacity()->set_memory_bytes(1 << 30);
  registration.mutable_capacity()->set_threads(1);
  return registration;
}

FakeWorker::FakeWorker(const TestServer& server, const std::string& name, uint64_t incarnation)
    : FakeWorker(server, Registration(name, incarnation)) {}

FakeWorker::FakeWorker(const TestServer& server, v1::Register registration)
    : stub_(v1::WorkerService::NewStub(server.NewChannel())), stream_(stub_->Connect(&context_)) {
  v1::ConnectRequest request;
  *request.mutable_register_() = std::move(registration);
  Send(request);
  reader_ = std::thread([this] { Read(); });
}

FakeWorker::~FakeWorker() {
  Die();
  reader_.join();
}

void FakeWorker::Send(const v1::ConnectRequest& request) {
  // False when the stream has ended: the reader finds out why.
  (void)stream_->Write(request);
}

void FakeWorker::Read() {
  v1::ConnectResponse message;
  while (stream_->Read(&message)) {
    absl::MutexLock lock(&mutex_);
    received_.push_back(message);
  }
  const grpc::Status status = stream_->Finish();
  absl::MutexLock lock(&mutex_);
  status_ = status;
  ended_ = true;
}

v1::ConnectResponse FakeWorker::Next() {
  absl::MutexLock lock(&mutex_);
  const auto arrived = [this]()
                           ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return ended_ || !received_.empty(); };
  SDP_CHECK(mutex_.AwaitWithTimeout(absl::Condition(&arrived), kPatience), "no message in time");
  if (received_.empty()) return {};
  v1::ConnectResponse message = std::move(received_.front());
  received_.pop_front();
  return message;
}

bool FakeWorker::Await(v1::ConnectResponse::MessageCase kind, v1::ConnectResponse* message) {
  while (true) {
    v1::ConnectResponse next = Next();
    if (next.message_case() == v1::ConnectResponse::MESSAGE_NOT_SET) return false;
    if (next.has_assignment()) {
      assignment_ = next.assignment();
      reported_steps_ = 0;
    }
    if (next.message_case() != kind) continue;
    if (message != nullptr) *message = std::move(next);
    return true;
  }
}

grpc::Status FakeWorker::AwaitEnd() {
  absl::MutexLock lock(&mutex_);
  SDP_CHECK(mutex_.AwaitWithTimeout(absl::Condition(&ended_), kPatience), "the stream did not end in time");
  return status_;
}

void FakeWorker::Report(v1::AssignmentPhase phase, const std::string& error) {
  v1::ConnectRequest request;
  v1::AssignmentStatus* status = request.mutable_assignment_status();
  *status->mutable_id() = assignment_.id();
  status->set_plan_digest(assignment_.plan().digest());
  status->set_phase(phase);
  status->set_committed_steps(reported_steps_);
  if (phase == v1::ASSIGNMENT_PHASE_READY) {
    v1::ShardFingerprint* shard = status->add_shards();
    shard->set_path("/data/train.bin");
    shard->set_bytes(1000);
    shard->set_sampled_hash("0123456789abcdef");
  } else if (phase == v1::ASSIGNMENT_PHASE_FINISHED) {
    status->add_exported_files(absl::StrCat("model-", assignment_.rank(), ".safetensors"));
  } else if (phase == v1::ASSIGNMENT_PHASE_FAILED) {
    status->set_error_code(static_cast<int>(absl::StatusCode::kInternal));
    status->set_error_message(error);
  }
  Send(request);
}

void FakeWorker::ReportSteps(int64_t committed, double loss) {
  v1::ConnectRequest request;
  v1::StepReport* report = request.mutable_step_report();
  *report->mutable_id() = assignment_.id();
  report->set_committed_steps(committed);
  report->set_step_seconds(0.5);
  report->set_peak_tensor_bytes(4096);
  report->set_bytes_sent(100 * committed);
  for (int64_t step = reported_steps_; assignment_.rank() == 0 && step < committed; ++step) {
    v1::CommittedStep* out = report->add_steps();
    out->set_step(step);
    out->set_loss(loss);
    out->set_tokens(128);
    out->set_learning_rate(1e-3);
    out->set_gradient_norm(1.5);
  }
  reported_steps_ = committed;
  Send(request);
}

void FakeWorker::ReportEvaluation(int64_t step, double loss) {
  v1::ConnectRequest request;
  v1::EvaluationReport* report = request.mutable_evaluation_report();
  *report->mutable_id() = assignment_.id();
  report->set_step(step);
  report->set_full_loss(loss);
  report->set_subnetwork_loss(loss + 0.1);
  report->set_tokens(1000);
  Send(request);
}

void FakeWorker::SendAddress(const std::string& address) {
  v1::ConnectRequest request;
  v1::Rendezvous* rendezvous = request.mutable_rendezvous();
  *rendezvous->mutable_id() = assignment_.id();
  rendezvous->set_rank(assignment_.rank());
  rendezvous->set_address(address);
  Send(request);
}

Watcher::Watcher(const TestServer& server, const std::string& job, int64_t after_sequence)
    : stub_(v1::JobService::NewStub(server.NewChannel())) {
  reader_ = std::thread([this, job, after_sequence] {
    v1::WatchJobRequest request;
    request.set_name(job);
    request.set_after_sequence(after_sequence);
    const auto stream = stub_->WatchJob(&context_, request);
    v1::WatchJobResponse message;
    while (stream->Read(&message)) {
      absl::MutexLock lock(&mutex_);
      messages_.push_back(message);
    }
    const grpc::Status status = stream->Finish();
    absl::MutexLock lock(&mutex_);
    status_ = status;
    ended_ = true;
  });
}

Watcher::~Watcher() {
  context_.TryCancel();
  reader_.join();
}

grpc::Status Watcher::AwaitEnd() {
  absl::MutexLock lock(&mutex_);
  SDP_CHECK(mutex_.AwaitWithTimeout(absl::Condition(&ended_), kPatience), "the watch did not end in time");
  return status_;
}

bool Watcher::AwaitEvent(v1::JobEventKind kind) {
  return AwaitMessage(
      [kind](const v1::WatchJobResponse& m) { return m.has_event() && m.event().kind() == kind; });
}

bool Watcher::AwaitProgress() {
  return AwaitMessage([](const v1::WatchJobResponse& m) { return m.has_progress(); });
}

bool Watcher::AwaitMessage(const std::function<bool(const v1::WatchJobResponse&)>& wanted) {
  absl::MutexLock lock(&mutex_);
  const auto came = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return std::any_of(messages_.begin(), messages_.end(), wanted);
  };
  const auto done = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return ended_ || came(); };
  return mutex_.AwaitWithTimeout(absl::Condition(&done), kPatience) && came();
}

std::vector<v1::WatchJobResponse> Watcher::messages() {
  absl::MutexLock lock(&mutex_);
  return messages_;
}

}  // namespace sdp::coordinator
