#include "common/data/token_shard_writer.h"

#include "absl/strings/str_cat.h"
#include "common/data/llmc_format.h"
#include "common/data/megatron_format.h"
#include "common/data/nanogpt_format.h"

namespace sdp {

absl::StatusOr<std::unique_ptr<TokenShardWriter>> TokenShardWriter::Create(const std::string& path,
                                                                           DataFormat format, int vocab) {
  switch (format) {
    case DataFormat::kLlmc:
      return CreateLlmcWriter(path, vocab);
    case DataFormat::kNanogpt:
      return CreateNanogptWriter(path, vocab);
    case DataFormat::kMegatron:
      return CreateMegatronWriter(path, vocab);
    case DataFormat::kDetect:
      break;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("cannot write ", path, ": no format; choose llmc, nanogpt or megatron"));
}

}  // namespace sdp
