#include "coordinator/state/membership.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"

namespace sdp::coordinator {

const char* WorkerStateName(WorkerState state) {
  switch (state) {
    case WorkerState::kIdle:
      return "IDLE";
    case WorkerState::kBusy:
      return "BUSY";
    case WorkerState::kLost:
      return "LOST";
  }
  return "unknown";
}

PlanMember MemberOf(const WorkerRecord& worker) {
  PlanMember member;
  member.worker = worker.name;
  member.incarnation = worker.incarnation;
  member.data_plane_address = worker.data_plane_address;
  member.profile.memory_budget_bytes = worker.capacity.memory_bytes;
  member.profile.relative_speed = worker.capacity.relative_speed;
  member.profile.threads = worker.capacity.threads;
  return member;
}

Membership::Admission Membership::Register(const Registration& registration, SessionId session,
                                           absl::Time now) {
  Admission admission;
  auto found = workers_.find(registration.worker);
  if (found != workers_.end()) {
    WorkerRecord& known = found->second;
    const std::string known_process =
        absl::StrCat("incarnation ", known.incarnation.value(), " at ", known.data_plane_address);
    const std::string this_process = absl::StrCat("incarnation ", registration.incarnation.value(), " at ",
                                                  registration.data_plane_address);
    if (registration.incarnation < known.incarnation) {
      admission.status =
          absl::AbortedError(absl::StrCat("worker ", registration.worker.value(), ": ", this_process,
                                          " is older than ", known_process, ", which took over"));
      return admission;
    }
    if (known.state != WorkerState::kLost) {
      if (registration.incarnation != known.incarnation) {
        admission.status = absl::AlreadyExistsError(
            absl::StrCat("two workers are named ", registration.worker.value(), ": ", known_process,
                         " is alive, so ", this_process, " cannot join; give each worker a name of its own"));
        return admission;
      }
      admission.replaced =
          Lose(known, "its stream broke and the same process connected again", absl::StatusCode::kAborted);
    }
  }
  WorkerRecord& record = workers_[registration.worker];
  record = WorkerRecord();
  record.name = registration.worker;
  record.incarnation = registration.incarnation;
  record.session = session;
  record.state_reason = "waits for a job";
  record.data_plane_address = registration.data_plane_address;
  record.capacity = registration.capacity;
  record.software_version = registration.software_version;
  record.register_time = now;
  record.last_sign_of_life = now;
  sessions_[session] = record.name;
  return admission;
}

const WorkerRecord* Membership::BySession(SessionId session) const {
  auto found = sessions_.find(session);
  return found == sessions_.end() ? nullptr : Find(found->second);
}

const WorkerRecord* Membership::Find(const WorkerName& name) const {
  auto found = workers_.find(name);
  return found == workers_.end() ? nullptr : &found->second;
}

std::vector<WorkerName> Membership::Idle() const {
  std::vector<WorkerName> names;
  for (const auto& [name, record] : workers_) {
    if (record.state == WorkerState::kIdle) names.push_back(name);
  }
  return names;
}

void Membership::SignOfLife(SessionId session, absl::Time now) {
  auto found = sessions_.find(session);
  if (found != sessions_.end()) At(found->second).last_sign_of_life = now;
}

void Membership::SetMemory(SessionId session, const Heartbeat& heartbeat) {
  auto found = sessions_.find(session);
  if (found != sessions_.end()) At(found->second).memory = heartbeat;
}

std::optional<Loss> Membership::Disconnect(SessionId session, const std::string& reason) {
  auto found = sessions_.find(session);
  if (found == sessions_.end()) return std::nullopt;
  return Lose(At(found->second), reason, absl::StatusCode::kOk);
}

std::vector<Loss> Membership::Tick(absl::Time now) {
  std::vector<Loss> losses;
  for (auto entry = workers_.begin(); entry != workers_.end();) {
    WorkerRecord& record = entry->second;
    const absl::Duration silence = now - record.last_sign_of_life;
    if (record.state == WorkerState::kLost) {
      entry = silence >= kForgetLostAfter ? workers_.erase(entry) : std::next(entry);
      continue;
    }
    if (silence >= timing_.lost_after) {
      const absl::Duration rounded = absl::Floor(silence, absl::Milliseconds(100));
      losses.push_back(Lose(record, absl::StrCat("no heartbeat for ", absl::FormatDuration(rounded)),
                            absl::StatusCode::kUnavailable));
    } else if (record.occupation.has_value() && record.occupation->stop_deadline.has_value() &&
               now >= *record.occupation->stop_deadline) {
      losses.push_back(
          Lose(record,
               absl::StrCat("it did not stop working for jobs/", record.occupation->id.job.value(),
                            " within ", absl::FormatDuration(kStopTimeout)),
               absl::StatusCode::kAborted));
    }
    ++entry;
  }
  return losses;
}

void Membership::Occupy(const WorkerName& name, Occupation occupation, const std::string& reason) {
  WorkerRecord& record = At(name);
  SDP_CHECK(record.state == WorkerState::kIdle, "only an idle worker can take a job");
  record.state = WorkerState::kBusy;
  record.occupation = std::move(occupation);
  record.state_reason = reason;
}

void Membership::AwaitStop(const WorkerName& name, const AssignmentKey& id, const std::string& reason,
                           absl::Time now) {
  WorkerRecord& record = At(name);
  SDP_CHECK(record.state != WorkerState::kLost, "a lost worker cannot be awaited");
  record.state = WorkerState::kBusy;
  const Rank rank = record.occupation.has_value() ? record.occupation->rank : 0;
  record.occupation = Occupation{id, rank, now + kStopTimeout};
  record.state_reason = reason;
}

void Membership::Release(const WorkerName& name, const std::string& reason) {
  WorkerRecord& record = At(name);
  SDP_CHECK(record.state == WorkerState::kBusy, "only a busy worker can be released");
  record.state = WorkerState::kIdle;
  record.occupation.reset();
  record.state_reason = reason;
}

Loss Membership::Lose(WorkerRecord& record, std::string reason, absl::StatusCode code) {
  Loss loss{record.name, record.session, record.occupation, reason, absl::OkStatus()};
  if (code != absl::StatusCode::kOk) {
    loss.status =
        absl::Status(code, absl::StrCat("worker ", record.name.value(), " counts as lost: ", reason));
  }
  sessions_.erase(record.session);
  record.state = WorkerState::kLost;
  record.occupation.reset();
  record.state_reason = std::move(reason);
  return loss;
}

WorkerRecord& Membership::At(const WorkerName& name) {
  auto found = workers_.find(name);
  SDP_CHECK(found != workers_.end(), "no worker of this name");
  return found->second;
}

}  // namespace sdp::coordinator
