#include "coordinator/service/translate.h"

#include "absl/time/time.h"
#include "common/wire/wire.h"
#include "common/wire/worker_wire.h"

namespace sdp::coordinator {
namespace {

google::protobuf::Timestamp TimeToProto(absl::Time time) {
  google::protobuf::Timestamp proto;
  const int64_t seconds = absl::ToUnixSeconds(time);
  proto.set_seconds(seconds);
  proto.set_nanos(static_cast<int32_t>((time - absl::FromUnixSeconds(seconds)) / absl::Nanoseconds(1)));
  return proto;
}

v1::JobState StateToProto(JobState state) {
  switch (state) {
    case JobState::kQueued:
      return v1::JOB_STATE_QUEUED;
    case JobState::kPreparing:
      return v1::JOB_STATE_PREPARING;
    case JobState::kRunning:
      return v1::JOB_STATE_RUNNING;
    case JobState::kExporting:
      return v1::JOB_STATE_EXPORTING;
    case JobState::kCancelling:
      return v1::JOB_STATE_CANCELLING;
    case JobState::kFailing:
      return v1::JOB_STATE_FAILING;
    case JobState::kSucceeded:
      return v1::JOB_STATE_SUCCEEDED;
    case JobState::kFailed:
      return v1::JOB_STATE_FAILED;
    case JobState::kCancelled:
      return v1::JOB_STATE_CANCELLED;
  }
  return v1::JOB_STATE_UNSPECIFIED;
}

v1::JobEventKind KindToProto(JobEventKind kind) {
  switch (kind) {
    case JobEventKind::kStateChanged:
      return v1::JOB_EVENT_KIND_STATE_CHANGED;
    case JobEventKind::kWaiting:
      return v1::JOB_EVENT_KIND_WAITING;
    case JobEventKind::kPlanned:
      return v1::JOB_EVENT_KIND_PLANNED;
    case JobEventKind::kWorkerFailed:
      return v1::JOB_EVENT_KIND_WORKER_FAILED;
    case JobEventKind::kStepSkipped:
      return v1::JOB_EVENT_KIND_STEP_SKIPPED;
    case JobEventKind::kEvaluated:
      return v1::JOB_EVENT_KIND_EVALUATED;
    case JobEventKind::kExported:
      return v1::JOB_EVENT_KIND_EXPORTED;
  }
  return v1::JOB_EVENT_KIND_UNSPECIFIED;
}

v1::WorkerState StateToProto(WorkerState state) {
  switch (state) {
    case WorkerState::kIdle:
      return v1::WORKER_STATE_IDLE;
    case WorkerState::kBusy:
      return v1::WORKER_STATE_BUSY;
    case WorkerState::kLost:
      return v1::WORKER_STATE_LOST;
  }
  return v1::WORKER_STATE_UNSPECIFIED;
}

}  // namespace

v1::Job JobToProto(const Job& job) {
  v1::Job proto;
  proto.set_name(JobResourceName(job.id));
  *proto.mutable_spec() = SpecToProto(*job.spec);
  proto.set_state(StateToProto(job.state));
  proto.set_state_reason(job.state_reason);
  *proto.mutable_create_time() = TimeToProto(job.create_time);
  if (job.start_time.has_value()) *proto.mutable_start_time() = TimeToProto(*job.start_time);
  if (job.end_time.has_value()) *proto.mutable_end_time() = TimeToProto(*job.end_time);
  if (job.plan != nullptr) *proto.mutable_plan() = PlanToProto(*job.plan);
  *proto.mutable_progress() = ProgressToProto(job.progress);
  if (job.evaluation.has_value()) {
    v1::Evaluation* evaluation = proto.mutable_evaluation();
    evaluation->set_step(job.evaluation->step);
    evaluation->set_full_loss(job.evaluation->full_loss);
    for (double loss : job.evaluation->subnetwork_losses) evaluation->add_subnetwork_losses(loss);
    evaluation->set_tokens(job.evaluation->tokens);
  }
  for (const std::string& file : job.exported_files) proto.add_exported_files(file);
  return proto;
}

v1::JobEvent EventToProto(const JobEvent& event) {
  v1::JobEvent proto;
  proto.set_sequence(event.sequence);
  *proto.mutable_time() = TimeToProto(event.time);
  proto.set_kind(KindToProto(event.kind));
  proto.set_state(StateToProto(event.state));
  proto.set_message(event.message);
  proto.set_worker(event.worker.value());
  proto.set_step(event.step);
  return proto;
}

v1::JobProgress ProgressToProto(const JobProgress& progress) {
  v1::JobProgress proto;
  proto.set_step(progress.step);
  proto.set_total_steps(progress.total_steps);
  proto.set_loss(progress.loss);
  proto.set_tokens(progress.tokens);
  proto.set_tokens_per_second(progress.tokens_per_second);
  proto.set_eta_seconds(progress.eta_seconds);
  proto.set_learning_rate(progress.learning_rate);
  proto.set_gradient_norm(progress.gradient_norm);
  proto.set_step_seconds(progress.step_seconds);
  proto.set_peak_tensor_bytes(progress.peak_tensor_bytes);
  proto.set_bytes_per_step(progress.bytes_per_step);
  proto.set_hidden_averaging_ratio(progress.hidden_averaging_ratio);
  proto.set_skipped_steps(progress.skipped_steps);
  for (const WorkerProgress& worker : progress.workers) {
    v1::WorkerProgress* out = proto.add_workers();
    out->set_worker(worker.worker.value());
    out->set_step(worker.step);
    out->set_phase(StepPhaseToProto(worker.phase));
    out->set_peak_tensor_bytes(worker.peak_tensor_bytes);
    out->set_tensor_bytes(worker.tensor_bytes);
    out->set_resident_bytes(worker.resident_bytes);
    out->set_bytes_sent(worker.bytes_sent);
    out->set_bytes_received(worker.bytes_received);
  }
  return proto;
}

v1::Worker WorkerToProto(const WorkerRecord& worker) {
  v1::Worker proto;
  proto.set_name(WorkerResourceName(worker.name));
  proto.set_incarnation(worker.incarnation.value());
  proto.set_state(StateToProto(worker.state));
  proto.set_state_reason(worker.state_reason);
  if (worker.occupation.has_value()) {
    proto.set_job(JobResourceName(worker.occupation->id.job));
    proto.set_rank(worker.occupation->rank);
  }
  proto.set_data_plane_address(worker.data_plane_address);
  *proto.mutable_capacity() = WorkerCapacityToProto(worker.capacity);
  proto.set_software_version(worker.software_version);
  *proto.mutable_register_time() = TimeToProto(worker.register_time);
  proto.set_resident_bytes(worker.memory.resident_bytes);
  proto.set_tensor_bytes(worker.memory.tensor_bytes);
  return proto;
}

}  // namespace sdp::coordinator
