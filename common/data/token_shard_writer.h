// Writing of token shards.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/model/job_spec.h"

namespace sdp {

// A shard under its name is complete: it is written beside it and renamed by Finish, over an older one.
// Errors of the system name the path: NOT_FOUND (no such folder), PERMISSION_DENIED, RESOURCE_EXHAUSTED (disk
// full). After an error the writer is good for nothing but destruction, which leaves no file behind.
// Thread-compatible.
class TokenShardWriter {
 public:
  // Formats: llm.c (16-bit tokens of the GPT-2 layout when the vocabulary has at most 65,536 tokens, else
  // 32-bit tokens of the Llama-3 layout), nanoGPT (16-bit tokens), Megatron (`path` is the .bin or the .idx
  // of the pair; 16-bit tokens when the vocabulary has less than 65,500 tokens, as Megatron itself does, else
  // 32-bit). INVALID_ARGUMENT: no format, a vocabulary that the format cannot hold, another ending of the
  // path.
  static absl::StatusOr<std::unique_ptr<TokenShardWriter>> Create(const std::string& path, DataFormat format,
                                                                  int vocab);
  virtual ~TokenShardWriter() = default;

  // INVALID_ARGUMENT: a token outside the vocabulary, with its position. OUT_OF_RANGE: more tokens than the
  // format can count.
  virtual absl::Status Append(absl::Span<const int32_t> tokens) = 0;
  // Ends a document. Only Megatron records where documents end; an end-of-text token for the other formats is
  // the caller's to append. An empty document is none.
  virtual absl::Status EndDocument() = 0;
  // Completes the shard; an open document ends. FAILED_PRECONDITION: no token was written.
  virtual absl::Status Finish() = 0;
};

}  // namespace sdp
