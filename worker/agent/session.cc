#include "worker/agent/session.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "worker/agent/output_directory.h"
#include "worker/averaging/gloo_mesh.h"

namespace sdp {

// Addresses travel through the coordinator: published by the listener, delivered by AddAddress.
class Session::RelayedRendezvous : public Rendezvous {
 public:
  explicit RelayedRendezvous(Session* session) : session_(session) {}

  absl::Status Publish(std::string address) override {
    session_->listener_->OnAddress(address);
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> AddressOf(Rank rank, absl::Time deadline) override {
    absl::MutexLock lock(&session_->mutex_);
    const auto known = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(session_->mutex_) {
      return session_->aborted_ || session_->addresses_.contains(rank);
    };
    if (!session_->mutex_.AwaitWithDeadline(absl::Condition(&known), deadline)) {
      const PlanMember& peer = session_->assignment_.plan->members[rank];
      return absl::DeadlineExceededError(absl::StrCat("rank ", rank, " (", peer.worker.value(),
                                                      ") has not published its data-plane address"));
    }
    if (session_->aborted_) return absl::CancelledError(session_->abort_reason_);
    return session_->addresses_[rank];
  }

 private:
  Session* const session_;
};

Session::Session(SessionAssignment assignment, SessionOptions options, SessionListener* listener)
    : assignment_(std::move(assignment)), options_(std::move(options)), listener_(listener) {
  thread_ = std::thread([this] { Run(); });
}

Session::~Session() {
  bool ended = false;
  {
    absl::MutexLock lock(&mutex_);
    ended = ended_;
  }
  // A session that has ended leaves its peers in peace: they may still be in the last collective.
  if (!ended) Abort("the session was dropped");
  thread_.join();
}

void Session::Release() {
  absl::MutexLock lock(&mutex_);
  released_ = true;
}

void Session::Abort(const std::string& reason) {
  absl::MutexLock lock(&mutex_);
  if (!aborted_) abort_reason_ = reason;
  aborted_ = true;
  if (mesh_) mesh_->Abort(reason);
}

void Session::AddAddress(Rank rank, std::string address) {
  absl::MutexLock lock(&mutex_);
  addresses_[rank] = std::move(address);
}

SessionProgress Session::TakeProgress() {
  SessionProgress progress;
  absl::MutexLock lock(&mutex_);
  progress.steps = std::exchange(steps_, {});
  progress.evaluations = std::exchange(evaluations_, {});
  if (trainer_) progress.stats = trainer_->stats();
  if (mesh_) progress.bytes = CountWireBytes(*mesh_);
  return progress;
}

std::vector<ShardFingerprint> Session::fingerprints() const {
  absl::MutexLock lock(&mutex_);
  return fingerprints_;
}

std::vector<std::string> Session::exported_files() const {
  absl::MutexLock lock(&mutex_);
  return exported_files_;
}

void Session::Run() {
  absl::Status status = RunToEnd();
  if (absl::Status aborted = AbortedStatus(); !aborted.ok()) status = aborted;
  {
    absl::MutexLock lock(&mutex_);
    ended_ = true;
    // After a failure of its own nothing would end what is under way: peers wait for this rank, and the
    // trainer for them.
    if (!status.ok() && mesh_) mesh_->Abort(status.message());
  }
  listener_->OnEnded(status);
}

absl::Status Session::RunToEnd() {
  SDP_RETURN_IF_ERROR(Prepare());
  listener_->OnReady();
  SDP_RETURN_IF_ERROR(WaitForRelease());
  SDP_RETURN_IF_ERROR(Train());
  return Export();
}

absl::Status Session::Prepare() {
  SDP_RETURN_IF_ERROR(OpenData());
  SDP_RETURN_IF_ERROR(CheckOutputDirectory(assignment_.spec->output_directory, assignment_.rank,
                                           assignment_.table.elements * static_cast<int64_t>(sizeof(float))));
  SDP_RETURN_IF_ERROR(AbortedStatus());

  TrainerInputs inputs;
  inputs.spec = *assignment_.spec;
  inputs.table = assignment_.table;
  inputs.plan = *assignment_.plan;
  inputs.rank = assignment_.rank;
  inputs.train = train_;
  inputs.validation = validation_;
  std::unique_ptr<Mesh> mesh;        // first: it must outlive the trainer
  std::unique_ptr<Trainer> trainer;  // made first: what does not fit fails before anyone connects
  SDP_ASSIGN_OR_RETURN(trainer, Trainer::Create(std::move(inputs)));

  MeshOptions options;
  options.rank = assignment_.rank;
  options.world_size = assignment_.plan->world_size();
  options.bind_address = options_.bind_address;
  options.advertised_address = options_.advertised_address;
  options.connect_timeout = assignment_.prepare_timeout;
  options.collective_timeout = assignment_.collective_timeout;
  RelayedRendezvous rendezvous(this);
  SDP_ASSIGN_OR_RETURN(mesh, ConnectGlooMesh(options, rendezvous));
  SDP_RETURN_IF_ERROR(trainer->Connect(*mesh));

  absl::MutexLock lock(&mutex_);
  mesh_ = std::move(mesh);
  trainer_ = std::move(trainer);
  if (aborted_) return absl::CancelledError(abort_reason_);
  return absl::OkStatus();
}

absl::Status Session::OpenData() {
  const JobSpec& spec = *assignment_.spec;
  const auto open = [&](const std::vector<std::string>& paths) {
    return TokenDataset::Open(paths, spec.data.format, spec.model.vocab, spec.model.seq_len);
  };
  SDP_ASSIGN_OR_RETURN(train_, open(spec.data.train_shards));
  if (train_->sequences() < spec.batch.global_sequences) {
    return absl::FailedPreconditionError(
        absl::StrCat("data.train_shards: ", train_->sequences(), " sequences of ", spec.model.seq_len,
                     " tokens in all, fewer than one global batch of ", spec.batch.global_sequences,
                     "; give more data, or lower batch.global_sequences or model.llama.seq_len"));
  }
  std::vector<ShardFingerprint> fingerprints = train_->fingerprints();
  if (!spec.data.validation_shards.empty()) {
    SDP_ASSIGN_OR_RETURN(validation_, open(spec.data.validation_shards));
    const std::vector<ShardFingerprint>& more = validation_->fingerprints();
    fingerprints.insert(fingerprints.end(), more.begin(), more.end());
  }
  absl::MutexLock lock(&mutex_);
  fingerprints_ = std::move(fingerprints);
  return absl::OkStatus();
}

absl::Status Session::WaitForRelease() {
  absl::MutexLock lock(&mutex_);
  const auto decided = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return released_ || aborted_; };
  mutex_.Await(absl::Condition(&decided));
  return aborted_ ? absl::CancelledError(abort_reason_) : absl::OkStatus();
}

absl::Status Session::Train() {
  const JobSpec& spec = *assignment_.spec;
  const int64_t total = spec.total_steps();
  const int64_t interval = spec.evaluation.interval_steps;
  int64_t committed = assignment_.plan->first_step;
  while (committed < total) {
    SDP_RETURN_IF_ERROR(AbortedStatus());
    SDP_ASSIGN_OR_RETURN(RoundOutcome outcome, trainer_->TrainRound());
    const int64_t before = committed;
    committed = outcome.steps.back().step + 1;
    {
      absl::MutexLock lock(&mutex_);
      steps_.insert(steps_.end(), outcome.steps.begin(), outcome.steps.end());
    }
    const bool due = interval > 0 && committed / interval > before / interval;
    if (validation_ && (due || committed >= total)) SDP_RETURN_IF_ERROR(EvaluateNow());
  }
  return absl::OkStatus();
}

absl::Status Session::EvaluateNow() {
  SDP_ASSIGN_OR_RETURN(EvaluationOutcome outcome, trainer_->Evaluate());
  absl::MutexLock lock(&mutex_);
  evaluations_.push_back(outcome);
  return absl::OkStatus();
}

absl::Status Session::Export() {
  SDP_ASSIGN_OR_RETURN(std::vector<std::string> files, trainer_->Export(assignment_.spec->output_directory));
  absl::MutexLock lock(&mutex_);
  exported_files_ = std::move(files);
  return absl::OkStatus();
}

absl::Status Session::AbortedStatus() const {
  absl::MutexLock lock(&mutex_);
  return aborted_ ? absl::CancelledError(abort_reason_) : absl::OkStatus();
}

}  // namespace sdp
