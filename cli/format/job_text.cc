#include "cli/format/job_text.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/format/table.h"
#include "cli/format/units.h"
#include "common/wire/enum_text.h"

namespace sdp::cli {
namespace {

absl::Time ToTime(const google::protobuf::Timestamp& time) {
  return absl::FromUnixSeconds(time.seconds()) + absl::Nanoseconds(time.nanos());
}

std::string TimeAndAge(const google::protobuf::Timestamp& time, absl::Time now, absl::TimeZone zone) {
  return absl::StrCat(absl::FormatTime("%Y-%m-%d %H:%M:%S %Z", ToTime(time), zone), " (",
                      ShortDuration(now - ToTime(time)), " ago)");
}

std::string WorkersText(const v1::Job& job) {
  if (job.has_plan()) return absl::StrCat(job.plan().members_size());
  const v1::WorkersSpec& workers = job.spec().workers();
  if (workers.min() == workers.max()) return absl::StrCat(workers.min());
  return absl::StrCat(workers.min(), "-", workers.max());
}

std::string StepText(const v1::JobProgress& progress) {
  return absl::StrCat(progress.step(), "/", progress.total_steps());
}

std::string LossText(const v1::Job& job) {
  return job.progress().step() > 0 ? absl::StrFormat("%.3f", job.progress().loss()) : "";
}

std::string ValidationText(const v1::Job& job) {
  return job.has_evaluation() ? absl::StrFormat("%.3f", job.evaluation().full_loss()) : "";
}

std::string EvaluationText(const v1::Evaluation& evaluation) {
  std::string text = absl::StrFormat("%.4f nats/token of the full model after step %d",
                                     evaluation.full_loss(), evaluation.step());
  const auto& losses = evaluation.subnetwork_losses();
  if (losses.empty()) return text;
  const auto [least, most] = std::minmax_element(losses.begin(), losses.end());
  absl::StrAppendFormat(&text, "; subnetworks %.4f to %.4f", *least, *most);
  return text;
}

std::string PlanText(const v1::Plan& plan) {
  const v1::PlanSummary& summary = plan.summary();
  return absl::StrCat("epoch ", plan.epoch(), ": ", plan.members_size(), " workers, active ratio ",
                      FormatNumber(summary.active_ratio()), ", spectral gap ",
                      FormatNumber(summary.spectral_gap()), " of at most ",
                      FormatNumber(summary.spectral_gap_bound()), ", masking error ",
                      FormatNumber(summary.masking_error()));
}

void AddProgress(const v1::JobProgress& progress, bool running, TextFields& fields) {
  fields.Add("Step", StepText(progress));
  if (progress.step() == 0) return;
  fields.Add("Training loss", absl::StrFormat("%.4f nats/token", progress.loss()));
  fields.Add("Speed", absl::StrCat(FormatCount(progress.tokens_per_second()), " tokens/s, ",
                                   absl::StrFormat("%.3f s/step", progress.step_seconds())));
  if (running && progress.eta_seconds() > 0) {
    fields.Add("Ends in about", ShortDuration(absl::Seconds(progress.eta_seconds())));
  }
  fields.Add("Peak tensor memory",
             absl::StrCat(FormatBytes(static_cast<double>(progress.peak_tensor_bytes())),
                          " on the worker that needs most"));
  fields.Add("Averaging",
             absl::StrCat(FormatBytes(progress.bytes_per_step()), " sent per worker and step, ",
                          FormatPercent(progress.hidden_averaging_ratio()), " of the time hidden"));
  if (progress.skipped_steps() > 0) fields.Add("Skipped steps", absl::StrCat(progress.skipped_steps()));
}

std::string WorkerProgressTable(const v1::Job& job) {
  TextTable table(
      {"RANK", "WORKER", "STEP", "PHASE", "PEAK TENSORS", "TENSORS", "RESIDENT", "SENT", "RECEIVED"});
  int rank = 0;
  for (const v1::WorkerProgress& worker : job.progress().workers()) {
    const auto bytes = [](int64_t count) { return FormatBytes(static_cast<double>(count)); };
    table.AddRow({absl::StrCat(rank++), worker.worker(), absl::StrCat(worker.step()),
                  worker.phase() == v1::STEP_PHASE_UNSPECIFIED ? "" : ShortEnumName(worker.phase()),
                  bytes(worker.peak_tensor_bytes()), bytes(worker.tensor_bytes()),
                  bytes(worker.resident_bytes()), bytes(worker.bytes_sent()),
                  bytes(worker.bytes_received())});
  }
  return table.ToString();
}

}  // namespace

std::string JobTable(const std::vector<v1::Job>& jobs, bool wide, absl::Time now) {
  std::vector<std::string> headers = {"NAME", "DISPLAY NAME", "STATE", "STEP", "LOSS", "WORKERS", "AGE"};
  if (wide) {
    for (const char* header : {"VALIDATION", "TOKENS/S", "PEAK TENSORS", "SENT/STEP", "REASON"}) {
      headers.push_back(header);
    }
  }
  TextTable table(headers);
  for (const v1::Job& job : jobs) {
    std::vector<std::string> row = {
        job.name(),
        job.spec().display_name(),
        ShortEnumName(job.state()),
        job.has_progress() ? StepText(job.progress()) : "",
        LossText(job),
        WorkersText(job),
        job.has_create_time() ? ShortDuration(now - ToTime(job.create_time())) : ""};
    if (wide) {
      const v1::JobProgress& progress = job.progress();
      const bool measured = progress.step() > 0;
      row.push_back(ValidationText(job));
      row.push_back(measured ? FormatCount(progress.tokens_per_second()) : "");
      row.push_back(measured ? FormatBytes(static_cast<double>(progress.peak_tensor_bytes())) : "");
      row.push_back(measured ? FormatBytes(progress.bytes_per_step()) : "");
      row.push_back(job.state_reason());
    }
    table.AddRow(std::move(row));
  }
  return table.ToString();
}

std::string DescribeJob(const v1::Job& job, bool wide, absl::Time now, absl::TimeZone zone) {
  TextFields fields;
  fields.Add("Name", job.name().empty() ? "(not created)" : job.name());
  fields.Add("Display name", job.spec().display_name());
  if (job.state() != v1::JOB_STATE_UNSPECIFIED) {
    const std::string reason = job.state_reason().empty() ? "" : absl::StrCat(": ", job.state_reason());
    fields.Add("State", absl::StrCat(ShortEnumName(job.state()), reason));
  }
  if (job.has_create_time()) fields.Add("Created", TimeAndAge(job.create_time(), now, zone));
  if (job.has_start_time()) fields.Add("Started", TimeAndAge(job.start_time(), now, zone));
  if (job.has_end_time()) fields.Add("Ended", TimeAndAge(job.end_time(), now, zone));
  fields.Add("Workers", WorkersText(job));
  if (job.has_plan()) fields.Add("Plan", PlanText(job.plan()));
  if (job.has_progress()) AddProgress(job.progress(), !IsTerminal(job.state()), fields);
  if (job.has_evaluation()) fields.Add("Validation loss", EvaluationText(job.evaluation()));
  fields.Add("Output directory", job.spec().output_directory());
  if (!job.exported_files().empty()) fields.Add("Exported files", absl::StrJoin(job.exported_files(), ", "));
  std::string text = fields.ToString();
  if (wide && !job.progress().workers().empty()) absl::StrAppend(&text, "\n", WorkerProgressTable(job));
  return text;
}

std::string EventLine(const v1::JobEvent& event, absl::TimeZone zone) {
  std::string text = absl::StrCat(absl::FormatTime("%H:%M:%S", ToTime(event.time()), zone), "  ",
                                  absl::StrFormat("%-10s", ShortEnumName(event.state())), "  ");
  if (!event.worker().empty()) absl::StrAppend(&text, event.worker(), ": ");
  if (event.step() > 0) absl::StrAppend(&text, "step ", event.step(), ": ");
  absl::StrAppend(&text, event.message().empty() ? ShortEnumName(event.kind()) : event.message());
  return OneLine(std::move(text));
}

std::string ProgressLine(const v1::JobProgress& progress) {
  std::string text = absl::StrCat("step ", StepText(progress));
  if (progress.total_steps() > 0) {
    absl::StrAppend(&text, " ", progress.step() * 100 / progress.total_steps(), "%");
  }
  if (progress.step() == 0) return text;
  absl::StrAppendFormat(
      &text, "  loss %.4f  %s tokens/s  ETA %s  peak %s  sent %s/step", progress.loss(),
      FormatCount(progress.tokens_per_second()),
      progress.eta_seconds() > 0 ? ShortDuration(absl::Seconds(progress.eta_seconds())) : "-",
      FormatBytes(static_cast<double>(progress.peak_tensor_bytes())), FormatBytes(progress.bytes_per_step()));
  if (progress.skipped_steps() > 0) absl::StrAppend(&text, "  skipped ", progress.skipped_steps());
  return text;
}

bool IsTerminal(v1::JobState state) {
  return state == v1::JOB_STATE_SUCCEEDED || state == v1::JOB_STATE_FAILED ||
         state == v1::JOB_STATE_CANCELLED;
}

}  // namespace sdp::cli
