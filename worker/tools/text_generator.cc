#include "worker/tools/text_generator.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "ATen/core/Tensor.h"
#include "ATen/core/grad_mode.h"
#include "ATen/ops/empty.h"
#include "ATen/ops/from_blob.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "common/base/random.h"
#include "common/base/status_macros.h"
#include "worker/checkpoint/model_reader.h"
#include "worker/models/llama.h"
#include "worker/models/parameter_store.h"
#include "worker/models/torch_status.h"

namespace sdp {
namespace {

constexpr int kBytes = 256;

// The next token by its logits, of temperature above 0.
int64_t Sample(absl::Span<const float> logits, double temperature, Random& random) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  std::vector<double> weights;
  double total = 0;
  for (const float logit : logits) {
    weights.push_back(std::exp((logit - largest) / temperature));
    total += weights.back();
  }
  double left = random.Unit() * total;
  for (size_t token = 0; token < weights.size(); ++token) {
    left -= weights[token];
    if (left < 0) return static_cast<int64_t>(token);
  }
  return static_cast<int64_t>(weights.size()) - 1;
}

int64_t Likeliest(absl::Span<const float> logits) {
  return std::max_element(logits.begin(), logits.end()) - logits.begin();
}

}  // namespace

struct TextGenerator::State {
  explicit State(const LlamaSpec& model_spec)
      : spec(model_spec), table(MakeParameterTable(spec)), model(spec, table) {}

  // Logits of the token after `context`, (V).
  at::Tensor NextLogits(absl::Span<const int64_t> context) const {
    const at::Tensor tokens = at::from_blob(const_cast<int64_t*>(context.data()),
                                            {1, static_cast<int64_t>(context.size())}, at::kLong);
    at::Tensor hidden = model.Embed(model.EmbeddingOf(slices), tokens);  // (1, T, H)
    for (int layer = 0; layer < spec.layers; ++layer) {
      hidden = model.Block(model.BlockOf(slices, layer), hidden);
    }
    const at::Tensor last = hidden.narrow(1, hidden.size(1) - 1, 1);
    return model.Logits(model.FinalNormOf(slices), model.OutputOf(slices), last).flatten();
  }

  const LlamaSpec spec;
  const ParameterTable table;
  const LlamaModel model;
  std::vector<at::Tensor> slices;
};

TextGenerator::TextGenerator(std::unique_ptr<State> state) : state_(std::move(state)) {}
TextGenerator::~TextGenerator() = default;

absl::StatusOr<std::unique_ptr<TextGenerator>> TextGenerator::Load(const std::string& directory) {
  SDP_ASSIGN_OR_RETURN(const std::unique_ptr<ModelReader> reader, ModelReader::Open(directory));
  if (reader->spec().vocab != kBytes) {
    return absl::InvalidArgumentError(absl::StrCat(directory, ": the vocabulary has ", reader->spec().vocab,
                                                   " tokens; this tool knows models of the 256 bytes only"));
  }
  using Result = absl::StatusOr<std::unique_ptr<TextGenerator>>;
  return CatchTorchErrors(directory, [&]() -> Result {
    auto state = std::make_unique<State>(reader->spec());
    for (const Parameter& parameter : state->table.parameters) {
      const StoredTensor* stored = reader->Find(parameter.name);
      if (stored != nullptr && stored->shape != parameter.shape) {
        return absl::InvalidArgumentError(
            absl::StrCat(directory, ": ", parameter.name, " has shape (", absl::StrJoin(stored->shape, ", "),
                         "); by config.json it is (", absl::StrJoin(parameter.shape, ", "), ")"));
      }
      const at::Tensor tensor = at::empty(parameter.shape, at::kFloat);
      SDP_RETURN_IF_ERROR(reader->Read(parameter.name, Values(tensor)));
      state->slices.push_back(tensor);
    }
    return std::unique_ptr<TextGenerator>(new TextGenerator(std::move(state)));
  });
}

absl::StatusOr<std::string> TextGenerator::Generate(const std::string& prompt,
                                                    const GenerationOptions& options) const {
  if (prompt.empty()) return absl::InvalidArgumentError("the prompt is empty; it needs at least one byte");
  if (options.tokens < 0 || !(options.temperature >= 0)) {
    return absl::InvalidArgumentError("tokens and temperature must be 0 or more");
  }
  return CatchTorchErrors("generating text", [&]() -> absl::StatusOr<std::string> {
    const at::NoGradGuard no_grad;
    std::vector<int64_t> tokens;
    for (const char byte : prompt) tokens.push_back(static_cast<unsigned char>(byte));
    Random random(options.seed);
    std::string text = prompt;
    for (int i = 0; i < options.tokens; ++i) {
      const size_t context = std::min<size_t>(tokens.size(), state_->spec.seq_len);
      const at::Tensor next =
          state_->NextLogits(absl::MakeConstSpan(tokens).subspan(tokens.size() - context));
      const absl::Span<const float> logits = Values(next);
      tokens.push_back(options.temperature > 0 ? Sample(logits, options.temperature, random)
                                               : Likeliest(logits));
      text.push_back(static_cast<char>(tokens.back()));
    }
    return text;
  });
}

}  // namespace sdp
