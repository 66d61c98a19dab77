#include "cli/plan_command.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/client.h"
#include "cli/device_rates.h"
#include "cli/exit_code.h"
#include "cli/format/dry_run_text.h"
#include "cli/format/plan_svg.h"
#include "cli/format/plan_text.h"
#include "cli/format/units.h"
#include "cli/spec_source.h"
#include "cli/worker_groups.h"
#include "common/base/atomic_file_writer.h"
#include "common/base/check.h"
#include "common/base/status_macros.h"
#include "common/wire/enum_text.h"
#include "common/wire/suggest.h"
#include "common/wire/wire.h"

namespace sdp::cli {
namespace {

constexpr double kBitsPerByte = 8;

struct PlanOptions {
  SpecSource source;
  v1::PlanJobRequest request;  // all but the spec
  std::string measured;        // the job whose speed is assumed; empty: none
  std::string svg;             // path of the picture; empty: none
};

// "balanced,random": each once, in that order.
absl::Status ParseGenerators(const std::string& text, v1::PlanJobRequest* request) {
  const google::protobuf::EnumDescriptor& type = *v1::MaskGenerator_descriptor();
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::string name(absl::StripAsciiWhitespace(part));
    const auto* value = FindEnumValue(type, name);
    if (value == nullptr || value->number() == v1::MASK_GENERATOR_UNSPECIFIED) {
      std::vector<std::string> names;
      for (int i = 1; i < type.value_count(); ++i) names.push_back(ShortEnumName(*type.value(i)));
      const std::string near = ClosestName(name, names);
      return absl::InvalidArgumentError(absl::StrCat(
          "no generator \"", name, "\"", near.empty() ? "" : absl::StrCat(" (did you mean ", near, "?)"),
          "; must be one or several of ", JoinChoices(names), ", as in full,random,balanced"));
    }
    const auto generator = static_cast<v1::MaskGenerator>(value->number());
    const auto& known = request->compare();
    if (std::find(known.begin(), known.end(), generator) == known.end()) request->add_compare(generator);
  }
  return absl::OkStatus();
}

absl::StatusOr<int> ParsePositive(const std::string& text) {
  int number;
  if (!absl::SimpleAtoi(text, &number) || number < 1) {
    return absl::InvalidArgumentError(absl::StrCat("is \"", text, "\"; must be a whole number above 0"));
  }
  return number;
}

// An option that `parse` reads; its errors become usage errors that name the option.
CLI::Option* AddParsed(CLI::App& command, const std::string& name, const char* type, const char* description,
                       std::function<absl::Status(const std::string&)> parse) {
  return command
      .add_option_function<std::string>(
          name,
          [name, parse = std::move(parse)](const std::string& text) {
            const absl::Status status = parse(text);
            if (!status.ok()) throw CLI::ValidationError(name, std::string(status.message()));
          },
          description)
      ->type_name(type);
}

// What averaging every H steps does to the end of the job, when it does anything.
void NoteShortRound(const v1::JobSpec& proto, Session& session) {
  JobSpec spec;
  SDP_CHECK(ValidateSpec(proto, &spec).empty(), "LoadSpec returns valid specs");
  const int64_t last = spec.total_steps() % spec.averaging.every_steps;
  if (last == 0) return;
  session.err() << "Note: " << spec.total_steps() << " steps are no multiple of averaging.every_steps ("
                << spec.averaging.every_steps << "); the last round has " << last << ".\n";
}

// Puts the device's speed into the request, asking for the measured job where one is named. Returns what is
// assumed, for people.
absl::StatusOr<std::string> AssumeRates(const PlanOptions& options, Client& client,
                                        v1::PlanJobRequest* request) {
  std::vector<std::string> assumed;
  std::string source;
  if (!options.measured.empty()) {
    SDP_ASSIGN_OR_RETURN(const std::string name, JobArgument(options.measured));
    SDP_ASSIGN_OR_RETURN(const v1::Job job, client.GetJob(name));
    SDP_ASSIGN_OR_RETURN(const double flops, MeasuredFlopsPerSecond(job));
    request->mutable_device()->set_flops_per_second(flops);
    source =
        absl::StrCat(" (measured in ", name,
                     ", averaging included: ", FormatSeconds(job.progress().step_seconds()), " per step)");
  }
  const v1::DeviceProfile& device = request->device();
  if (device.flops_per_second() > 0) {
    assumed.push_back(
        absl::StrCat(FormatCount(device.flops_per_second()), " FLOP/s on a worker of speed 1", source));
  }
  if (device.link_bytes_per_second() > 0) {
    assumed.push_back(
        absl::StrCat(FormatCount(kBitsPerByte * device.link_bytes_per_second()), "bit/s links"));
  }
  const bool averaging_known = device.link_bytes_per_second() > 0 || !options.measured.empty();
  if (device.flops_per_second() > 0 && !averaging_known) assumed.push_back("averaging takes no time");
  if (device.flops_per_second() == 0 && averaging_known) assumed.push_back("computing takes no time");
  if (device.nccl()) assumed.push_back("NCCL's communicators");
  return absl::StrJoin(assumed, ", ");
}

std::string AnswerText(const v1::PlanJobRequest& request, const v1::PlanJobResponse& response,
                       const PlanTextOptions& options) {
  std::vector<std::string> parts;
  if (request.fit_memory_bytes() > 0) parts.push_back(FitsText(response, request.fit_memory_bytes()));
  if (request.compare_size() > 0) {
    const v1::MaskGenerator own = request.spec().masking().generator();
    parts.push_back(ComparisonText(response,
                                   own == v1::MASK_GENERATOR_UNSPECIFIED ? v1::MASK_GENERATOR_BALANCED : own,
                                   options.assumed, options.terminal));
  } else {
    parts.push_back(PlanText(response.plan(), options));
  }
  if (request.redraw_every_steps() > 0) {
    parts.push_back(ScheduleText(response.schedule(), request.redraw_every_steps()));
  }
  if (request.change_to_workers() > 0) {
    parts.push_back(ChangeText(response, options.wide ? &options.terminal : nullptr));
  }
  return absl::StrJoin(parts, "\n");
}

void PrintAnswer(const v1::PlanJobRequest& request, const v1::PlanJobResponse& response,
                 const std::string& assumed, Session& session) {
  const OutputFormat format = session.options.output;
  if (!IsStructured(format)) {
    PlanTextOptions options;
    options.wide = format == OutputFormat::kWide;
    options.assumed = assumed;
    options.terminal = {session.environment.out_is_utf8, session.environment.out_columns};
    session.out() << AnswerText(request, response, options);
    return;
  }
  const bool more = request.fit_memory_bytes() > 0 || request.compare_size() > 0 ||
                    request.redraw_every_steps() > 0 || request.change_to_workers() > 0;
  if (!assumed.empty()) session.err() << "Assumed: " << assumed << '\n';
  session.out() << (more ? StructuredText(response, format) : StructuredText(response.plan(), format));
}

absl::Status WriteSvg(const v1::Plan& plan, const std::string& path, Session& session) {
  SDP_ASSIGN_OR_RETURN(const std::unique_ptr<AtomicFileWriter> file, AtomicFileWriter::Create(path));
  SDP_RETURN_IF_ERROR(file->Append(PlanSvg(plan)));
  SDP_RETURN_IF_ERROR(file->Commit());
  session.err() << "The mask's picture is in " << path << ".\n";
  return absl::OkStatus();
}

// The spec is checked for the workers that the plan is for, not for those that it asks for itself.
SpecSource SourceForItsWorkers(const PlanOptions& options) {
  SpecSource source = options.source;
  int64_t workers = options.request.workers();
  for (const v1::WorkerGroup& group : options.request.worker_groups()) workers += group.count();
  if (workers == 0) return source;
  for (const char* field : {"workers.min", "workers.max"}) {
    source.changes.push_back(absl::StrCat(field, "=", workers));
  }
  return source;
}

absl::StatusOr<int> Plan(const PlanOptions& options, Session& session) {
  SDP_RETURN_IF_ERROR(session.RefuseNameOutput());
  v1::PlanJobRequest request = options.request;
  SDP_ASSIGN_OR_RETURN(*request.mutable_spec(), LoadSpec(SourceForItsWorkers(options), session));
  Client client(session);
  SDP_ASSIGN_OR_RETURN(const std::string assumed, AssumeRates(options, client, &request));
  SDP_ASSIGN_OR_RETURN(const v1::PlanJobResponse response, client.PlanJob(request));
  PrintAnswer(request, response, assumed, session);
  NoteShortRound(request.spec(), session);
  if (!options.svg.empty()) SDP_RETURN_IF_ERROR(WriteSvg(response.plan(), options.svg, session));
  return kExitOk;
}

// What the plan is for.
void AddQuestionOptions(CLI::App& plan, v1::PlanJobRequest* request) {
  AddParsed(plan, "--workers", "WORKERS",
            "Plan for these: 8 equal workers; groups, as in 4x80GiB,4x40GiB, with relative speeds as in "
            "4x80GiB@2,4x40GiB; or live, the workers in the cluster. Default: the spec's workers.max",
            [request](const std::string& text) { return ParseWorkers(text, request); });
  AddParsed(plan, "--fit", "MEMORY",
            "Find the largest active ratio C that fits into this memory on each worker, as in 24GiB, and "
            "plan for it",
            [request](const std::string& text) {
              SDP_ASSIGN_OR_RETURN(const int64_t bytes, ParseBytes(text));
              request->set_fit_memory_bytes(bytes);
              return absl::OkStatus();
            });
  AddParsed(plan, "--compare", "GENERATORS",
            "Compare masks by these generators, as in full,random,balanced, instead of showing one plan",
            [request](const std::string& text) { return ParseGenerators(text, request); });
  AddParsed(plan, "--redraw-every", "STEPS",
            "Show what a mask re-drawn every so many steps would be like. Planned and costed only: jobs keep "
            "their first mask",
            [request](const std::string& text) {
              SDP_ASSIGN_OR_RETURN(const int steps, ParsePositive(text));
              request->set_redraw_every_steps(steps);
              return absl::OkStatus();
            });
  AddParsed(plan, "--change-to", "N", "Show what moves when workers join or leave until there are so many",
            [request](const std::string& text) {
              SDP_ASSIGN_OR_RETURN(const int workers, ParsePositive(text));
              request->set_change_to_workers(workers);
              return absl::OkStatus();
            });
}

// What predicted times are based on.
void AddDeviceOptions(CLI::App& plan, PlanOptions* options) {
  v1::PlanJobRequest* request = &options->request;
  CLI::Option* flops = AddParsed(
      plan, "--device-flops", "RATE",
      "Predict times, at these floating-point operations per second, as reached in training: as in 100T",
      [request](const std::string& text) {
        SDP_ASSIGN_OR_RETURN(const double rate, ParseCount(text));
        request->mutable_device()->set_flops_per_second(rate);
        return absl::OkStatus();
      });
  plan.add_option("--measured", options->measured,
                  "Predict times, at the speed that this job has reached, averaging included: jobs/NAME, or "
                  "NAME alone")
      ->type_name("JOB")
      ->excludes(flops);
  AddParsed(plan, "--link-bandwidth", "RATE",
            "Predict times of averaging, on links of this bandwidth: as in 25Gbit or 3GB, per second",
            [request](const std::string& text) {
              SDP_ASSIGN_OR_RETURN(const double rate, ParseLinkBandwidth(text));
              request->mutable_device()->set_link_bytes_per_second(rate);
              return absl::OkStatus();
            });
  plan.add_flag_callback(
      "--nccl", [request] { request->mutable_device()->set_nccl(true); },
      "Count the device memory of NCCL's communicators too, at an assumed size of each");
}

constexpr char kFooter[] =
    "Prints what each worker would hold, compute and send, how good the mask is, and the mask itself.\n"
    "Nothing is started. The spectral gap says how fast knowledge spreads among the workers: 1 is data\n"
    "parallelism, 0 means that some workers never share anything. The masking error is 0 for data\n"
    "parallelism and 1 for workers without a common block. docs/method.md has the formulas.\n\n"
    "-o json and -o yaml print the plan alone; with --fit, --compare, --redraw-every or --change-to\n"
    "the whole answer, which has the plan in its field `plan`. Large plans with --fit or --compare may\n"
    "need --timeout 1m.\n\n"
    "Examples:\n"
    "  sdpctl plan -f llama.yaml                                  # for the spec's workers.max\n"
    "  sdpctl plan -f llama.yaml --set masking.active_ratio=0.5 --workers 8 -o wide\n"
    "  sdpctl plan -f llama.yaml --workers 4x80GiB@2,4x40GiB      # unequal workers\n"
    "  sdpctl plan -f llama.yaml --workers live                   # those in the cluster now\n"
    "  sdpctl plan -f llama.yaml --workers 8 --fit 24GiB          # which C fits into this memory?\n"
    "  sdpctl plan -f llama.yaml --compare full,random,balanced   # generators side by side\n"
    "  sdpctl plan -f llama.yaml --svg mask.svg                   # the mask as a picture\n"
    "  sdpctl plan -f llama.yaml --device-flops 100T --link-bandwidth 25Gbit --nccl\n"
    "  sdpctl plan -f llama.yaml --measured jobs/book-1           # seconds per step, at that job's speed\n"
    "  sdpctl plan -f llama.yaml --redraw-every 500               # a schedule of masks and what it moves\n"
    "  sdpctl plan -f llama.yaml --workers 8 --change-to 9        # what a ninth worker would move\n"
    "  sdpctl plan -f llama.yaml -o json | jq .summary.spectral_gap";

}  // namespace

void AddPlanCommand(CLI::App& app, Session& session) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App* plan = app.add_subcommand("plan", "Show what a job would look like, without running it");
  AddSpecOptions(*plan, &options->source);
  AddQuestionOptions(*plan, &options->request);
  AddDeviceOptions(*plan, options.get());
  plan->add_option("--svg", options->svg, "Write a picture of the mask to this file too")->type_name("FILE");
  plan->footer(kFooter);
  plan->callback(
      [options, &session] { session.command = [options, &session] { return Plan(*options, session); }; });
}

}  // namespace sdp::cli
