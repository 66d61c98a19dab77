#include "cli/format/dry_run_text.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/format/plan_text.h"
#include "cli/format/table.h"
#include "cli/format/units.h"
#include "common/wire/enum_text.h"

namespace sdp::cli {
namespace {

// A row of the comparison. Empty cells: not known, or no plan.
struct ComparedFigure {
  const char* label;
  std::function<std::string(const v1::PlanSummary&)> text;
};

std::string BytesText(int64_t bytes) { return FormatBytes(static_cast<double>(bytes)); }

std::string Ratio(double part, double whole) { return whole > 0 ? FormatNumber(part / whole) : ""; }

const std::vector<ComparedFigure>& ComparedFigures() {
  using Summary = v1::PlanSummary;
  static const auto& figures = *new std::vector<ComparedFigure>{
      {"Active ratio C", [](const Summary& s) { return FormatNumber(s.active_ratio()); }},
      {"Spectral gap", [](const Summary& s) { return FormatNumber(s.spectral_gap()); }},
      {"Bound", [](const Summary& s) { return FormatNumber(s.spectral_gap_bound()); }},
      {"Gap / bound", [](const Summary& s) { return Ratio(s.spectral_gap(), s.spectral_gap_bound()); }},
      {"Masking error", [](const Summary& s) { return FormatNumber(s.masking_error()); }},
      {"Coverage", [](const Summary& s) { return absl::StrCat(s.coverage_minimum()); }},
      {"Most memory", [](const Summary& s) { return BytesText(LargestPeakMemory(s)); }},
      {"Sent per step", [](const Summary& s) { return FormatBytes(MeanBytesPerStep(s)); }},
      {"Of DDP's bytes",
       [](const Summary& s) {
         const auto all = static_cast<double>(s.data_parallel_bytes_per_step());
         return all > 0 ? FormatPercent(MeanBytesPerStep(s) / all) : "";
       }},
      {"Memory imbalance", [](const Summary& s) { return FormatNumber(s.memory_imbalance()); }},
      {"Compute imbalance", [](const Summary& s) { return FormatNumber(s.compute_imbalance()); }},
      {"Holder sets", [](const Summary& s) { return absl::StrCat(s.component_holder_sets()); }},
      {"Most communicators", [](const Summary& s) { return absl::StrCat(MostCommunicators(s)); }},
      {"Their memory",
       [](const Summary& s) {
         const int64_t bytes = LargestCommunicatorMemory(s);
         return bytes > 0 ? BytesText(bytes) : "";
       }},
      {"Step time", [](const Summary& s) { return StepTimeText(s); }},
  };
  return figures;
}

// The compared plans, with the spec's own among them.
std::vector<v1::ComparedPlan> Columns(const v1::PlanJobResponse& response, v1::MaskGenerator own) {
  std::vector<v1::ComparedPlan> columns(response.compared().begin(), response.compared().end());
  const auto is_own = [own](const v1::ComparedPlan& compared) { return compared.generator() == own; };
  if (std::none_of(columns.begin(), columns.end(), is_own)) {
    v1::ComparedPlan first;
    first.set_generator(own);
    *first.mutable_plan() = response.plan();
    columns.insert(columns.begin(), std::move(first));
  }
  return columns;
}

std::string ComparisonTable(const std::vector<v1::ComparedPlan>& columns) {
  std::vector<std::string> headers = {"GENERATOR"};
  for (const v1::ComparedPlan& compared : columns) headers.push_back(ShortEnumName(compared.generator()));
  TextTable table(std::move(headers));
  for (const ComparedFigure& figure : ComparedFigures()) {
    std::vector<std::string> row = {figure.label};
    bool known = false;
    for (const v1::ComparedPlan& compared : columns) {
      row.push_back(compared.has_plan() ? figure.text(compared.plan().summary()) : "");
      known |= !row.back().empty();
    }
    if (known) table.AddRow(std::move(row));
  }
  return table.ToString();
}

// Usually the memory says it all; the reason is for the rest.
std::string FitAnswer(const v1::RatioFit& fit, int64_t memory_bytes) {
  if (fit.fits()) return "yes";
  if (fit.peak_memory_bytes() <= memory_bytes) return absl::StrCat("no: ", fit.reason());
  return absl::StrCat("no: ", BytesText(fit.peak_memory_bytes() - memory_bytes), " too much");
}

}  // namespace

std::string FitsText(const v1::PlanJobResponse& response, int64_t memory_bytes) {
  TextTable table({"RATIO", "PEAK MEMORY", "GAP", "FITS"});
  double largest = 0;
  for (const v1::RatioFit& fit : response.fits()) {
    const bool planned = fit.peak_memory_bytes() > 0;
    table.AddRow({FormatNumber(fit.active_ratio()), planned ? BytesText(fit.peak_memory_bytes()) : "",
                  planned ? FormatNumber(fit.spectral_gap()) : "", FitAnswer(fit, memory_bytes)});
    if (fit.fits()) largest = std::max(largest, fit.active_ratio());
  }
  return absl::StrCat("Active ratios C that were tried for ", BytesText(memory_bytes), " on each worker\n",
                      table.ToString(),
                      "\nWhat follows is for the largest that fits, C = ", FormatNumber(largest), ".\n");
}

std::string ComparisonText(const v1::PlanJobResponse& response, v1::MaskGenerator own,
                           const std::string& assumed, const Terminal& terminal) {
  const std::vector<v1::ComparedPlan> columns = Columns(response, own);
  std::string text = ComparisonTable(columns);
  if (!assumed.empty()) absl::StrAppend(&text, "\nAssumed: ", assumed, "\n");
  for (const v1::ComparedPlan& compared : columns) {
    const std::string name = ShortEnumName(compared.generator());
    if (!compared.has_plan()) {
      absl::StrAppend(&text, "\n", name, " gives no plan: ", OneLine(compared.reason()), "\n");
    } else if (compared.generator() != v1::MASK_GENERATOR_FULL) {  // whose mask is no news
      absl::StrAppend(&text, "\n", name, ": ", MaskDrawing(compared.plan(), terminal));
    }
  }
  return text;
}

std::string ScheduleText(const v1::MaskSchedule& schedule, int redraw_every_steps) {
  TextTable table({"FROM STEP", "GAP", "MOVED", "LEAST MOVED"});
  for (int i = 0; i < schedule.entries_size(); ++i) {
    const v1::ScheduleEntry& entry = schedule.entries(i);
    table.AddRow({absl::StrCat(entry.from_step()), FormatNumber(entry.spectral_gap()),
                  i > 0 ? FormatBytes(entry.moved_bytes()) : "",
                  i > 0 ? FormatBytes(entry.moved_bytes_lower_bound()) : ""});
  }
  std::string text =
      absl::StrCat("Schedule: the mask re-drawn every ", redraw_every_steps,
                   " steps. Planned and costed only: a job keeps its first mask.\n", table.ToString());
  if (schedule.total_entries() > schedule.entries_size()) {
    absl::StrAppend(&text, "(the first ", schedule.entries_size(), " of ", schedule.total_entries(),
                    " masks that the job would have)\n");
  }
  TextFields fields;
  fields.Add("Mean gap",
             absl::StrCat(FormatNumber(schedule.mean_gap()), " of the mean of the averaging operators"));
  fields.Add("Product gap",
             absl::StrCat(FormatNumber(schedule.product_gap()), " of their product in order, per mask"));
  return absl::StrCat(text, "\n", fields.ToString());
}

std::string ChangeText(const v1::PlanJobResponse& response, const Terminal* terminal) {
  const v1::MaskChange& change = response.change();
  TextFields fields;
  const double least = change.moved_bytes_lower_bound();
  const std::string times = FormatNumber(change.moved_bytes() / least);
  std::string beside = "; nothing has to move";
  if (least > 0) {
    beside = times == "1" ? ", the least possible"
                          : absl::StrCat(", ", times, " times the least possible (", FormatBytes(least), ")");
  }
  fields.Add("Moves", absl::StrCat(FormatBytes(change.moved_bytes()), " of parameters and moments", beside));
  fields.Add("Spectral gap",
             absl::StrCat(FormatNumber(response.plan().summary().spectral_gap()), " before, ",
                          FormatNumber(change.plan().summary().spectral_gap()), " after, ",
                          FormatNumber(change.fresh_spectral_gap()), " with a mask made from nothing"));
  fields.Add("Most memory", absl::StrCat(BytesText(LargestPeakMemory(response.plan().summary())), " before, ",
                                         BytesText(LargestPeakMemory(change.plan().summary())), " after"));
  std::string text = absl::StrCat("Change from ", response.plan().members_size(), " to ",
                                  change.plan().members_size(), " workers\n", fields.ToString());
  if (terminal != nullptr) absl::StrAppend(&text, "\nAfterwards: ", MaskDrawing(change.plan(), *terminal));
  return text;
}

}  // namespace sdp::cli
