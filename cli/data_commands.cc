#include "cli/data_commands.h"

#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "cli/byte_statistics.h"
#include "cli/exit_code.h"
#include "cli/format/table.h"
#include "cli/read_text.h"
#include "common/base/status_macros.h"
#include "common/data/token_shard_writer.h"

namespace sdp::cli {
namespace {

constexpr int kByteVocab = 256;
constexpr size_t kChunk = 1 << 16;  // tokens between two looks at the interrupt

struct PrepareOptions {
  std::string input;
  std::string output_directory;
  DataFormat format = DataFormat::kLlmc;
  std::string format_name = "llmc";
  double validation_fraction = 0.05;
  int sequence_length = 0;  // 0: not known
};

// What was written.
struct Prepared {
  std::string train_path, validation_path;  // empty: not written
  int64_t train_tokens = 0, validation_tokens = 0;
  double cross_entropy = 0;  // of the validation text under the training text's byte frequencies
  double entropy = 0;        // of the validation text
};

absl::Status CheckLength(const std::string& part, size_t tokens, int sequence_length) {
  const auto needed = static_cast<size_t>(sequence_length) + 1;
  if (tokens >= needed) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the ", part, " text would have ", tokens, " tokens, but one sequence of ",
                   sequence_length, " needs ", needed, "; give more text or another --validation-fraction"));
}

absl::Status WriteShard(const std::string& path, const PrepareOptions& options, absl::string_view text,
                        const Interrupt& interrupt) {
  SDP_ASSIGN_OR_RETURN(const std::unique_ptr<TokenShardWriter> writer,
                       TokenShardWriter::Create(path, options.format, kByteVocab));
  std::vector<int32_t> tokens;
  while (!text.empty()) {
    if (interrupt.triggered()) return absl::CancelledError("interrupted; " + path + " was not written");
    const absl::string_view chunk = text.substr(0, kChunk);
    tokens.clear();
    for (const char c : chunk) tokens.push_back(static_cast<uint8_t>(c));
    SDP_RETURN_IF_ERROR(writer->Append(tokens));
    text.remove_prefix(chunk.size());
  }
  return writer->Finish();
}

absl::StatusOr<Prepared> PrepareText(const PrepareOptions& options, const std::string& text,
                                     const Interrupt& interrupt) {
  const auto validation_size =
      static_cast<size_t>(std::llround(static_cast<double>(text.size()) * options.validation_fraction));
  const absl::string_view train = absl::string_view(text).substr(0, text.size() - validation_size);
  const absl::string_view validation = absl::string_view(text).substr(train.size());
  SDP_RETURN_IF_ERROR(CheckLength("training", train.size(), options.sequence_length));
  if (options.validation_fraction > 0) {
    SDP_RETURN_IF_ERROR(CheckLength("validation", validation.size(), options.sequence_length));
  }
  std::error_code error;
  std::filesystem::create_directories(options.output_directory, error);
  if (error)
    return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot create ", options.output_directory));

  Prepared prepared;
  const std::filesystem::path folder = std::filesystem::absolute(options.output_directory);
  prepared.train_path = (folder / "train.bin").lexically_normal().string();
  prepared.train_tokens = static_cast<int64_t>(train.size());
  SDP_RETURN_IF_ERROR(WriteShard(prepared.train_path, options, train, interrupt));
  if (validation.empty()) return prepared;
  prepared.validation_path = (folder / "validation.bin").lexically_normal().string();
  prepared.validation_tokens = static_cast<int64_t>(validation.size());
  SDP_RETURN_IF_ERROR(WriteShard(prepared.validation_path, options, validation, interrupt));
  const ByteCounts counts = CountBytes(validation);
  prepared.cross_entropy = UnigramCrossEntropy(counts, CountBytes(train));
  prepared.entropy = UnigramEntropy(counts);
  return prepared;
}

// The result for scripts: flat, so that JSON and YAML are alike.
nlohmann::ordered_json ToJson(const Prepared& prepared, const PrepareOptions& options) {
  nlohmann::ordered_json json;
  json["format"] = options.format_name;
  json["vocab"] = kByteVocab;
  json["train_path"] = prepared.train_path;
  json["train_tokens"] = prepared.train_tokens;
  if (prepared.validation_path.empty()) return json;
  json["validation_path"] = prepared.validation_path;
  json["validation_tokens"] = prepared.validation_tokens;
  json["unigram_cross_entropy_nats"] = prepared.cross_entropy;
  json["unigram_entropy_nats"] = prepared.entropy;
  return json;
}

std::string CountText(int64_t tokens, int sequence_length) {
  std::string text = absl::StrCat(tokens, " tokens");
  if (sequence_length > 0) {
    absl::StrAppend(&text, ", ", (tokens - 1) / sequence_length, " sequences of ", sequence_length);
  }
  return text;
}

std::string Describe(const Prepared& prepared, const PrepareOptions& options) {
  TextFields fields;
  fields.Add("Training shard", absl::StrCat(prepared.train_path, " (", options.format_name, ")"));
  fields.Add("  size", CountText(prepared.train_tokens, options.sequence_length));
  if (!prepared.validation_path.empty()) {
    fields.Add("Validation shard", absl::StrCat(prepared.validation_path, " (", options.format_name, ")"));
    fields.Add("  size", CountText(prepared.validation_tokens, options.sequence_length));
    fields.Add("Unigram loss",
               absl::StrFormat("%.4f nats/token on the validation text, of the training text's byte "
                               "frequencies",
                               prepared.cross_entropy));
    fields.Add("  at best",
               absl::StrFormat("%.4f nats/token, of its own byte frequencies", prepared.entropy));
  }
  fields.Add("Vocabulary", absl::StrCat(kByteVocab, " (bytes)"));
  return fields.ToString();
}

absl::StatusOr<int> Prepare(const PrepareOptions& options, Session& session) {
  SDP_RETURN_IF_ERROR(session.RefuseNameOutput());
  SDP_ASSIGN_OR_RETURN(const std::string text, ReadText(options.input, session.environment.in));
  if (text.empty()) return absl::InvalidArgumentError(absl::StrCat(options.input, ": holds no text"));
  SDP_ASSIGN_OR_RETURN(const Prepared prepared, PrepareText(options, text, session.environment.interrupt));
  const nlohmann::ordered_json json = ToJson(prepared, options);
  if (session.options.output == OutputFormat::kJson) {
    session.out() << json.dump(2) << '\n';
  } else if (session.options.output == OutputFormat::kYaml) {
    // JSON scalars are YAML scalars.
    for (const auto& [key, value] : json.items()) session.out() << key << ": " << value.dump() << '\n';
  } else {
    session.out() << Describe(prepared, options);
  }
  return kExitOk;
}

void AddPrepare(CLI::App& data, Session& session) {
  auto options = std::make_shared<PrepareOptions>();
  CLI::App* prepare = data.add_subcommand("prepare", "Turn text into token shards, one token per byte");
  prepare->add_option("--input", options->input, "The text; - reads standard input")
      ->required()
      ->type_name("FILE");
  prepare
      ->add_option("--output-dir", options->output_directory,
                   "Folder for train.bin and validation.bin; created when missing")
      ->required()
      ->type_name("DIR");
  const std::vector<std::pair<std::string, DataFormat>> formats = {
      {"llmc", DataFormat::kLlmc}, {"nanogpt", DataFormat::kNanogpt}, {"megatron", DataFormat::kMegatron}};
  prepare->add_option("--format", options->format_name, "Layout of the shards: llmc, nanogpt or megatron")
      ->check(CLI::IsMember({"llmc", "nanogpt", "megatron"}))
      ->type_name("FORMAT")
      ->capture_default_str();
  prepare
      ->add_option("--validation-fraction", options->validation_fraction,
                   "Share of the text, from its end, that becomes the validation shard; 0: none")
      ->check(CLI::Range(0.0, 0.99))
      ->type_name("SHARE")
      ->capture_default_str();
  prepare
      ->add_option("--seq-len-hint", options->sequence_length,
                   "Sequence length of the job: counts sequences, and refuses texts shorter than one")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  prepare->footer(
      "Each file appears complete or not at all, in place of an older one. The unigram loss that is printed "
      "is what a\n"
      "model reaches that only knows how frequent each byte is: a trained model must be far below.\n\n"
      "Examples:\n"
      "  sdpctl data prepare --input book.txt --output-dir /data/book\n"
      "  bible -f gen1:1-rev22:21 | sdpctl data prepare --input - --output-dir /data/kjv --seq-len-hint 128\n"
      "  sdpctl data prepare --input book.txt --output-dir /data/book --format megatron -o json");
  prepare->callback([options, formats, &session] {
    for (const auto& [name, format] : formats) {
      if (name == options->format_name) options->format = format;
    }
    session.command = [options, &session] { return Prepare(*options, session); };
  });
}

}  // namespace

void AddDataCommands(CLI::App& app, Session& session) {
  CLI::App* data = app.add_subcommand("data", "Prepare data for jobs");
  data->require_subcommand(1);
  data->footer("Examples:\n  sdpctl data prepare --input book.txt --output-dir /data/book");
  AddPrepare(*data, session);
}

}  // namespace sdp::cli
