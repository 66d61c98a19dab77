#include "cli/format/plan_text.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/format/table.h"
#include "cli/format/units.h"

namespace sdp::cli {
namespace {

constexpr double kBytesPerParameter = 4;  // float32

std::string SequencesText(const v1::PlanMember& member) {
  if (member.sequences() == 0) return "none";
  return absl::StrCat(member.first_sequence(), "-", member.first_sequence() + member.sequences() - 1);
}

// Which columns the table of workers has beside those that it always has.
struct KnownColumns {
  explicit KnownColumns(const v1::PlanSummary& summary) {
    for (const v1::WorkerCost& cost : summary.workers()) {
      budgets |= cost.memory_budget_bytes() > 0;
      speeds |= cost.relative_speed() != summary.workers(0).relative_speed();
      computing |= cost.compute_seconds() > 0;
      averaging |= cost.averaging_seconds() > 0;
    }
  }

  bool budgets = false;
  bool speeds = false;
  bool computing = false;
  bool averaging = false;
};

std::vector<std::string> WorkerHeaders(const KnownColumns& known) {
  std::vector<std::string> headers = {"RANK",       "WORKER",   "SEQUENCES", "BLOCKS",
                                      "PARAMETERS", "OF MODEL", "MEMORY"};
  if (known.budgets) headers.insert(headers.end(), {"BUDGET", "USED"});
  if (known.speeds) headers.push_back("SPEED");
  headers.push_back("FLOP/STEP");
  if (known.computing) headers.push_back("COMPUTING");
  headers.push_back("SENT/STEP");
  if (known.averaging) headers.push_back("AVERAGING");
  return headers;
}

// The cells from PARAMETERS on.
std::vector<std::string> CostCells(const v1::WorkerCost& cost, double model_parameters,
                                   const KnownColumns& known) {
  const auto held = static_cast<double>(cost.parameters());
  const auto memory = static_cast<double>(cost.peak_memory_bytes());
  std::vector<std::string> cells = {FormatCount(held), FormatPercent(held / model_parameters),
                                    FormatBytes(memory)};
  if (known.budgets) {
    const auto budget = static_cast<double>(cost.memory_budget_bytes());
    cells.push_back(budget > 0 ? FormatBytes(budget) : "");
    cells.push_back(budget > 0 ? FormatPercent(memory / budget) : "");
  }
  if (known.speeds) cells.push_back(FormatNumber(cost.relative_speed()));
  cells.push_back(FormatCount(cost.flops_per_step()));
  if (known.computing) cells.push_back(FormatSeconds(cost.compute_seconds()));
  cells.push_back(FormatBytes(static_cast<double>(cost.bytes_per_step())));
  if (known.averaging) cells.push_back(FormatSeconds(cost.averaging_seconds()));
  return cells;
}

std::string WorkerTable(const v1::Plan& plan) {
  const KnownColumns known(plan.summary());
  const std::vector<std::string> headers = WorkerHeaders(known);
  TextTable table(headers);
  for (int rank = 0; rank < plan.members_size(); ++rank) {
    std::vector<std::string> row = {absl::StrCat(rank), plan.members(rank).worker(),
                                    SequencesText(plan.members(rank)), ""};
    if (rank < plan.mask_size()) {
      const std::string& bits = plan.mask(rank);
      row.back() = absl::StrCat(std::count(bits.begin(), bits.end(), '1'), "/", bits.size());
    }
    if (rank < plan.summary().workers_size()) {
      for (std::string& cell :
           CostCells(plan.summary().workers(rank), static_cast<double>(plan.summary().parameters()), known)) {
        row.push_back(std::move(cell));
      }
    }
    row.resize(headers.size());
    table.AddRow(std::move(row));
  }
  return table.ToString();
}

// What the predicted peak of each worker is made of.
std::string MemoryTable(const v1::Plan& plan) {
  const bool device_memory = LargestCommunicatorMemory(plan.summary()) > 0;
  std::vector<std::string> headers = {"RANK",        "MEMORY", "PARAMETERS", "GRADIENTS", "MOMENTS",
                                      "ACTIVATIONS", "LOGITS", "WORKSPACE",  "BUFFERS",   "COMMUNICATORS"};
  if (device_memory) headers.push_back("THEIR MEMORY");
  TextTable table(std::move(headers));
  for (int rank = 0; rank < plan.summary().workers_size(); ++rank) {
    const v1::WorkerCost& cost = plan.summary().workers(rank);
    const v1::WorkerMemory& memory = cost.memory();
    std::vector<std::string> cells = {absl::StrCat(rank)};
    for (const int64_t bytes :
         {cost.peak_memory_bytes(), memory.parameters(), memory.gradients(), memory.moments(),
          memory.activations(), memory.logits_and_loss(), memory.workspace(), memory.buffers()}) {
      cells.push_back(FormatBytes(static_cast<double>(bytes)));
    }
    cells.push_back(absl::StrCat(cost.communicators()));
    if (device_memory) cells.push_back(FormatBytes(static_cast<double>(cost.communicator_bytes())));
    table.AddRow(std::move(cells));
  }
  return table.ToString();
}

std::string TrafficText(const v1::PlanSummary& summary) {
  const auto all = static_cast<double>(summary.data_parallel_bytes_per_step());
  if (all == 0) return "none: one worker alone";
  const double mean = MeanBytesPerStep(summary);
  return absl::StrCat(FormatBytes(mean), " sent per worker (mean), ", FormatPercent(mean / all),
                      " of data parallelism's ", FormatBytes(all));
}

std::string CommunicatorsText(const v1::PlanSummary& summary) {
  std::string text = absl::StrCat("up to ", MostCommunicators(summary), " on a worker");
  if (const int64_t bytes = LargestCommunicatorMemory(summary); bytes > 0) {
    absl::StrAppend(&text, ", with ", FormatBytes(static_cast<double>(bytes)),
                    " of device memory beside the tensors");
  }
  return text;
}

std::string GapText(const v1::PlanSummary& summary) {
  std::string text = absl::StrCat(FormatNumber(summary.spectral_gap()), ", bound ",
                                  FormatNumber(summary.spectral_gap_bound()));
  if (summary.spectral_gap_bound() > 0) {
    absl::StrAppend(&text, ", gap / bound ",
                    FormatNumber(summary.spectral_gap() / summary.spectral_gap_bound()));
  }
  absl::StrAppend(&text, "; with shared components ", FormatNumber(summary.spectral_gap_with_shared()));
  return text;
}

std::string CoverageText(const v1::Plan& plan) {
  const int coverage = plan.summary().coverage_minimum();
  return absl::StrCat("every block has at least ", coverage, coverage == 1 ? " holder" : " holders",
                      coverage == 1 && plan.members_size() > 1 ? "; its loss would lose the block" : "");
}

// What a step costs and takes.
void AddCosts(const v1::Plan& plan, const PlanTextOptions& options, TextFields* fields) {
  const v1::PlanSummary& summary = plan.summary();
  fields->Add("Bytes per step", TrafficText(summary));
  fields->Add("Imbalance",
              absl::StrCat("parameters ", FormatNumber(summary.imbalance()), ", memory ",
                           FormatNumber(summary.memory_imbalance()), ", computing time ",
                           FormatNumber(summary.compute_imbalance()), " (most on a worker / mean)"));
  if (std::string time = StepTimeText(summary); !time.empty()) {
    const bool range = absl::StrContains(time, " to ");
    fields->Add("Step time",
                range ? time + " (averaging hidden behind the backward pass, or not at all)" : time);
  }
  if (!options.assumed.empty()) fields->Add("Assumed", options.assumed);
  fields->Add("Holder sets",
              absl::StrCat(summary.component_holder_sets(), " of blocks, ", plan.holder_sets_size(),
                           " with the shared components', in ", plan.buckets_size(), " buckets"));
  if (MostCommunicators(summary) > 0) fields->Add("Communicators", CommunicatorsText(summary));
}

std::string SummaryText(const v1::Plan& plan, const PlanTextOptions& options) {
  const v1::PlanSummary& summary = plan.summary();
  TextFields fields;
  fields.Add("Model", absl::StrCat(FormatCount(static_cast<double>(summary.parameters())), " parameters"));
  fields.Add("Active ratio",
             absl::StrCat(FormatNumber(summary.active_ratio()), " of the blocks on a worker (mean)"));
  fields.Add("Spectral gap", GapText(summary));
  fields.Add("Masking error", absl::StrCat(FormatNumber(summary.masking_error()),
                                           " (0: data parallelism, 1: nothing in common)"));
  fields.Add("Coverage", CoverageText(plan));
  AddCosts(plan, options, &fields);
  return fields.ToString();
}

std::string ReasonsText(const v1::PlanSummary& summary) {
  if (summary.reasons().empty()) return "";
  std::string text = "Why this mask:\n";
  for (const std::string& reason : summary.reasons()) absl::StrAppend(&text, "  - ", OneLine(reason), "\n");
  return absl::StrCat(text, "\n");
}

std::string HolderSetTable(const v1::Plan& plan) {
  TextTable table({"HOLDER SET", "RANKS", "BUCKETS", "SIZE"});
  for (int set = 0; set < plan.holder_sets_size(); ++set) {
    int buckets = 0;
    double elements = 0;
    for (const v1::Bucket& bucket : plan.buckets()) {
      if (bucket.holder_set() != set) continue;
      ++buckets;
      elements += static_cast<double>(bucket.elements());
    }
    table.AddRow({absl::StrCat(set), absl::StrJoin(plan.holder_sets(set).ranks(), ","), absl::StrCat(buckets),
                  FormatBytes(elements * kBytesPerParameter)});
  }
  return table.ToString();
}

}  // namespace

double MeanBytesPerStep(const v1::PlanSummary& summary) {
  double sum = 0;
  for (const v1::WorkerCost& cost : summary.workers()) sum += static_cast<double>(cost.bytes_per_step());
  return sum / std::max(1, summary.workers_size());
}

int64_t LargestPeakMemory(const v1::PlanSummary& summary) {
  int64_t largest = 0;
  for (const v1::WorkerCost& cost : summary.workers()) largest = std::max(largest, cost.peak_memory_bytes());
  return largest;
}

int MostCommunicators(const v1::PlanSummary& summary) {
  int most = 0;
  for (const v1::WorkerCost& cost : summary.workers()) most = std::max(most, cost.communicators());
  return most;
}

int64_t LargestCommunicatorMemory(const v1::PlanSummary& summary) {
  int64_t largest = 0;
  for (const v1::WorkerCost& cost : summary.workers()) largest = std::max(largest, cost.communicator_bytes());
  return largest;
}

std::string StepTimeText(const v1::PlanSummary& summary) {
  if (summary.step_seconds_longest() <= 0) return "";
  const std::string shortest = FormatSeconds(summary.step_seconds_shortest());
  const std::string longest = FormatSeconds(summary.step_seconds_longest());
  return shortest == longest ? longest : absl::StrCat(shortest, " to ", longest);
}

std::string PlanText(const v1::Plan& plan, const PlanTextOptions& options) {
  std::string text =
      absl::StrCat(WorkerTable(plan), "\n", SummaryText(plan, options), "\n", ReasonsText(plan.summary()));
  if (options.wide) absl::StrAppend(&text, MemoryTable(plan), "\n", HolderSetTable(plan), "\n");
  return absl::StrCat(text, MaskDrawing(plan, options.terminal));
}

}  // namespace sdp::cli
