#include "cli/plan_command.h"

#include <memory>
#include <ostream>

#include "cli/client.h"
#include "cli/exit_code.h"
#include "cli/format/plan_text.h"
#include "cli/spec_source.h"
#include "common/base/check.h"
#include "common/base/status_macros.h"
#include "common/wire/wire.h"

namespace sdp::cli {
namespace {

struct PlanOptions {
  SpecSource source;
  int workers = 0;
};

// What averaging every H steps does to the end of the job, when it does anything.
void NoteShortRound(const v1::JobSpec& proto, Session& session) {
  JobSpec spec;
  SDP_CHECK(ValidateSpec(proto, &spec).empty(), "LoadSpec returns valid specs");
  const int64_t last = spec.total_steps() % spec.averaging.every_steps;
  if (last == 0) return;
  session.err() << "Note: " << spec.total_steps() << " steps are no multiple of averaging.every_steps ("
                << spec.averaging.every_steps << "); the last round has " << last << ".\n";
}

absl::StatusOr<int> Plan(const PlanOptions& options, Session& session) {
  SDP_RETURN_IF_ERROR(session.RefuseNameOutput());
  v1::PlanJobRequest request;
  SDP_ASSIGN_OR_RETURN(*request.mutable_spec(), LoadSpec(options.source, session));
  request.set_workers(options.workers);
  SDP_ASSIGN_OR_RETURN(const v1::Plan plan, Client(session).PlanJob(request));
  if (IsStructured(session.options.output)) {
    session.out() << StructuredText(plan, session.options.output);
  } else {
    session.out() << PlanText(plan, session.options.output == OutputFormat::kWide,
                              session.environment.out_is_utf8);
  }
  NoteShortRound(request.spec(), session);
  return kExitOk;
}

}  // namespace

void AddPlanCommand(CLI::App& app, Session& session) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App* plan = app.add_subcommand("plan", "Show what a job would look like, without running it");
  AddSpecOptions(*plan, &options->source);
  plan->add_option("--workers", options->workers,
                   "Plan for this many workers; default: the spec's workers.max")
      ->check(CLI::PositiveNumber);
  plan->footer(
      "Prints what each worker would hold, compute and send, how good the mask is, and the mask itself.\n"
      "The spectral gap says how fast knowledge spreads among the workers: 1 is data parallelism, 0 means "
      "that some\n"
      "workers never share anything. The masking error is 0 for data parallelism and 1 for workers without a "
      "common\n"
      "block.\n\n"
      "Examples:\n"
      "  sdpctl plan -f llama.yaml\n"
      "  sdpctl plan -f llama.yaml --set masking.active_ratio=0.5 --workers 8 -o wide\n"
      "  sdpctl plan -f llama.yaml -o json | jq .summary.spectral_gap");
  plan->callback(
      [options, &session] { session.command = [options, &session] { return Plan(*options, session); }; });
}

}  // namespace sdp::cli
