#include "cli/format/plan_text.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
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

std::string WorkerTable(const v1::Plan& plan) {
  TextTable table({"RANK", "WORKER", "SEQUENCES", "BLOCKS", "PARAMETERS", "OF MODEL", "MEMORY", "FLOP/STEP",
                   "SENT/STEP"});
  for (int rank = 0; rank < plan.members_size(); ++rank) {
    std::string blocks, parameters, share, memory, flops, bytes;
    if (rank < plan.mask_size()) {
      const std::string& row = plan.mask(rank);
      blocks = absl::StrCat(std::count(row.begin(), row.end(), '1'), "/", row.size());
    }
    if (rank < plan.summary().workers_size()) {
      const v1::WorkerCost& cost = plan.summary().workers(rank);
      const auto held = static_cast<double>(cost.parameters());
      parameters = FormatCount(held);
      share = FormatPercent(held / static_cast<double>(plan.summary().parameters()));
      memory = FormatBytes(static_cast<double>(cost.peak_memory_bytes()));
      flops = FormatCount(cost.flops_per_step());
      bytes = FormatBytes(static_cast<double>(cost.bytes_per_step()));
    }
    table.AddRow({absl::StrCat(rank), plan.members(rank).worker(), SequencesText(plan.members(rank)), blocks,
                  parameters, share, memory, flops, bytes});
  }
  return table.ToString();
}

// What the predicted peak of each worker is made of.
std::string MemoryTable(const v1::Plan& plan) {
  TextTable table({"RANK", "MEMORY", "PARAMETERS", "GRADIENTS", "MOMENTS", "ACTIVATIONS", "LOGITS",
                   "WORKSPACE", "BUFFERS", "COMMUNICATORS"});
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
    table.AddRow(std::move(cells));
  }
  return table.ToString();
}

std::string TrafficText(const v1::Plan& plan) {
  double sum = 0;
  for (const v1::WorkerCost& cost : plan.summary().workers())
    sum += static_cast<double>(cost.bytes_per_step());
  const double mean = sum / std::max(1, plan.summary().workers_size());
  const double all = DataParallelBytesPerStep(plan);
  if (all == 0) return "none: one worker alone";
  return absl::StrCat(FormatBytes(mean), " sent per worker (mean), ", FormatPercent(mean / all),
                      " of data parallelism's ", FormatBytes(all));
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

std::string SummaryText(const v1::Plan& plan) {
  const v1::PlanSummary& summary = plan.summary();
  TextFields fields;
  fields.Add("Model", absl::StrCat(FormatCount(static_cast<double>(summary.parameters())), " parameters"));
  fields.Add("Active ratio",
             absl::StrCat(FormatNumber(summary.active_ratio()), " of the blocks on a worker (mean)"));
  fields.Add("Spectral gap", GapText(summary));
  fields.Add("Masking error", absl::StrCat(FormatNumber(summary.masking_error()),
                                           " (0: data parallelism, 1: nothing in common)"));
  const int coverage = summary.coverage_minimum();
  fields.Add("Coverage",
             absl::StrCat("every block has at least ", coverage, coverage == 1 ? " holder" : " holders",
                          coverage == 1 && plan.members_size() > 1 ? "; its loss would lose the block" : ""));
  fields.Add("Bytes per step", TrafficText(plan));
  fields.Add("Imbalance",
             absl::StrCat("parameters ", FormatNumber(summary.imbalance()), ", memory ",
                          FormatNumber(summary.memory_imbalance()), ", operations ",
                          FormatNumber(summary.compute_imbalance()), " (most on a worker / mean)"));
  fields.Add("Holder sets",
             absl::StrCat(plan.holder_sets_size(), " distinct, ", plan.buckets_size(), " buckets"));
  return fields.ToString();
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

// A header of block numbers, read downwards, then a row per worker.
std::string MaskDrawing(const v1::Plan& plan, bool utf8) {
  if (plan.mask().empty() || plan.mask(0).empty()) return "";
  size_t label_width = 0;
  for (const v1::PlanMember& member : plan.members())
    label_width = std::max(label_width, member.worker().size());
  const size_t blocks = plan.mask(0).size();
  // Air between the columns as long as the drawing fits an 80 column terminal.
  const char* gap = label_width + 2 * blocks <= 78 ? " " : "";
  std::string text = "Mask (rows: workers, columns: blocks)\n";
  for (size_t digits = absl::StrCat(blocks - 1).size(); digits > 0; --digits) {
    std::vector<std::string> cells;
    for (size_t block = 0; block < blocks; ++block) {
      const std::string number =
          absl::StrFormat("%*d", static_cast<int>(absl::StrCat(blocks - 1).size()), static_cast<int>(block));
      cells.push_back(number.substr(number.size() - digits, 1));
    }
    std::string line = absl::StrCat(std::string(label_width + 2, ' '), absl::StrJoin(cells, gap));
    absl::StrAppend(&text, line.substr(0, line.find_last_not_of(' ') + 1), "\n");
  }
  for (int rank = 0; rank < plan.mask_size(); ++rank) {
    const std::string label = rank < plan.members_size() ? plan.members(rank).worker() : "";
    std::vector<std::string> cells;
    for (const char c : plan.mask(rank))
      cells.push_back(c == '1' ? (utf8 ? "\u25a0" : "#") : (utf8 ? "\u00b7" : "."));
    absl::StrAppendFormat(&text, "%-*s%s\n", static_cast<int>(label_width + 2), label,
                          absl::StrJoin(cells, gap));
  }
  return text;
}

}  // namespace

double DataParallelBytesPerStep(const v1::Plan& plan) {
  const double workers = std::max(1, plan.members_size());
  return 2 * (workers - 1) / workers * static_cast<double>(plan.summary().parameters()) * kBytesPerParameter;
}

std::string PlanText(const v1::Plan& plan, bool wide, bool utf8) {
  std::string text = absl::StrCat(WorkerTable(plan), "\n", SummaryText(plan), "\n");
  if (wide) absl::StrAppend(&text, MemoryTable(plan), "\n", HolderSetTable(plan), "\n");
  return absl::StrCat(text, MaskDrawing(plan, utf8));
}

}  // namespace sdp::cli
