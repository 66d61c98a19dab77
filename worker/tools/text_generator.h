// Text from an exported model of byte tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace sdp {

struct GenerationOptions {
  int tokens = 200;          // how many to add to the prompt
  double temperature = 0.8;  // 0: always the likeliest token
  uint64_t seed = 0;
};

class TextGenerator {
 public:
  // Loads the model in `directory`. Errors are those of ModelReader; INVALID_ARGUMENT: its vocabulary is not
  // the 256 bytes, or one of its tensors has not the shape that config.json says.
  static absl::StatusOr<std::unique_ptr<TextGenerator>> Load(const std::string& directory);
  ~TextGenerator();

  // The prompt and what follows. Beyond the model's sequence length, the last tokens are its context.
  // INVALID_ARGUMENT: an empty prompt, or negative options. INTERNAL: LibTorch failed.
  absl::StatusOr<std::string> Generate(const std::string& prompt, const GenerationOptions& options) const;

 private:
  struct State;
  explicit TextGenerator(std::unique_ptr<State> state);

  const std::unique_ptr<State> state_;
};

}  // namespace sdp
