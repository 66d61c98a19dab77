#include "worker/training/exporter.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/atomic_file_writer.h"
#include "common/base/random.h"
#include "common/base/random_access_file.h"
#include "common/base/status_macros.h"
#include "worker/checkpoint/hugging_face.h"
#include "worker/checkpoint/safetensors.h"

namespace sdp {
namespace {

// How long a file that another host wrote may take to be seen here.
constexpr absl::Duration kVisibleWithin = absl::Seconds(3);

struct Shard {
  Rank rank = 0;
  std::string file;
  std::vector<int> slices;  // of the components that the rank provides, in the table's order
};

std::vector<Shard> MakeShards(const ParameterTable& table, const Plan& plan) {
  std::vector<std::vector<int>> slices(plan.world_size());
  for (size_t i = 0; i < table.components.size(); ++i) {
    const Component& component = table.components[i];
    std::vector<int>& provided = slices[plan.Provider(table, static_cast<int>(i))];
    for (int slice = component.first_slice; slice < component.end_slice; ++slice) provided.push_back(slice);
  }
  std::vector<Shard> shards;
  for (Rank rank = 0; rank < plan.world_size(); ++rank) {
    if (!slices[rank].empty()) shards.push_back({rank, "", std::move(slices[rank])});
  }
  for (size_t i = 0; i < shards.size(); ++i) {
    shards[i].file = SafetensorsFileName(static_cast<int>(i), static_cast<int>(shards.size()));
  }
  return shards;
}

const Parameter& ParameterOf(const ParameterTable& table, int slice) {
  return table.parameters[table.slices[slice].parameter];
}

absl::Status WriteShard(const ParameterTable& table, const Subnetwork& subnetwork, const Shard& shard,
                        const std::string& directory) {
  std::vector<StoredTensor> tensors;
  for (const int slice : shard.slices) {
    tensors.push_back({ParameterOf(table, slice).name, ParameterOf(table, slice).shape});
  }
  SDP_ASSIGN_OR_RETURN(const std::unique_ptr<SafetensorsWriter> writer,
                       SafetensorsWriter::Create(directory + "/" + shard.file, std::move(tensors)));
  for (const int slice : shard.slices) {
    SDP_RETURN_IF_ERROR(writer->Write(ParameterOf(table, slice).name, subnetwork.slice(slice).parameters));
  }
  return writer->Finish();
}

// Makes the folder, and looks whether the model fits.
absl::Status PrepareDirectory(const std::string& directory, int64_t bytes) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat(directory, ": cannot make this folder"));
  struct statvfs volume = {};
  if (statvfs(directory.c_str(), &volume) != 0) return absl::ErrnoToStatus(errno, directory);
  const int64_t available = static_cast<int64_t>(volume.f_bavail) * static_cast<int64_t>(volume.f_frsize);
  if (available >= bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrFormat("%s: the model takes %d bytes, and %d are free", directory, bytes, available));
}

// The file by which the ranks see that they write into one folder.
std::string MarkerPath(const std::string& directory) { return directory + "/.sdp-export"; }

std::string MarkerText(double nonce) { return absl::StrFormat("%.0f", nonce); }

absl::Status WriteMarker(const std::string& directory, double nonce) {
  SDP_ASSIGN_OR_RETURN(const std::unique_ptr<AtomicFileWriter> file,
                       AtomicFileWriter::Create(MarkerPath(directory)));
  SDP_RETURN_IF_ERROR(file->Append(MarkerText(nonce)));
  return file->Commit();
}

bool SeesMarker(const std::string& directory, double nonce) {
  const std::string expected = MarkerText(nonce);
  const auto file = RandomAccessFile::Open(MarkerPath(directory));
  if (!file.ok() || (*file)->size() != static_cast<int64_t>(expected.size())) return false;
  std::string text(expected.size(), '\0');
  return (*file)->Read(0, absl::MakeSpan(&text[0], text.size())).ok() && text == expected;
}

absl::Status CheckMarker(const std::string& directory, double nonce) {
  const absl::Time deadline = absl::Now() + kVisibleWithin;
  while (!SeesMarker(directory, nonce)) {
    if (absl::Now() >= deadline) {
      return absl::NotFoundError(
          absl::StrCat(directory, ": rank 0 wrote ", MarkerPath(directory),
                       ", and it is not to be seen here; the output directory must be one shared folder"));
    }
    absl::SleepFor(absl::Milliseconds(20));
  }
  return absl::OkStatus();
}

absl::Status WriteConfigAndIndex(const JobSpec& spec, const ParameterTable& table,
                                 const std::vector<Shard>& shards, const std::string& directory) {
  SDP_RETURN_IF_ERROR(WriteLlamaConfig(directory, spec.model));
  if (shards.size() > 1) {
    SafetensorsIndex index;
    index.total_bytes = table.elements * static_cast<int64_t>(sizeof(float));
    for (const Shard& shard : shards) {
      for (const int slice : shard.slices) index.file_of_tensor[ParameterOf(table, slice).name] = shard.file;
    }
    SDP_RETURN_IF_ERROR(WriteSafetensorsIndex(directory, index));
  }
  return RemoveOtherExports(directory, static_cast<int>(shards.size()));
}

// Gives all ranks an error when one has one, of the same code. `from_zero` becomes rank 0's on all ranks.
absl::Status Agree(const absl::Status& mine, Rank rank, const std::string& directory, double& from_zero,
                   Communicator& world) {
  std::vector<double> values(world.size() + 1, 0.0);
  values[rank] = static_cast<double>(mine.code());
  if (rank == 0) values.back() = from_zero;
  const absl::Status reduced = world.AllReduceSmall(absl::MakeSpan(values))->Wait();
  SDP_RETURN_IF_ERROR(mine);
  SDP_RETURN_IF_ERROR(reduced);
  from_zero = values.back();
  for (Rank other = 0; other < world.size(); ++other) {
    if (values[other] == 0) continue;
    const auto code = static_cast<absl::StatusCode>(static_cast<int>(values[other]));
    return absl::Status(code, absl::StrCat(directory, ": rank ", other, " cannot write its part there"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ExportModel(const JobSpec& spec, const ParameterTable& table,
                                                     const Plan& plan, Rank rank,
                                                     const Subnetwork& subnetwork,
                                                     const std::string& directory, Communicator& world) {
  const std::vector<Shard> shards = MakeShards(table, plan);
  const auto agree = [&](const absl::Status& mine, double& from_zero) {
    return Agree(mine, rank, directory, from_zero, world);
  };
  // 53 bits, so that a double carries it.
  double nonce = static_cast<double>(MixBits(absl::GetCurrentTimeNanos() ^ getpid()) >> 11);
  absl::Status mine;
  if (rank == 0) {
    mine = PrepareDirectory(directory, table.elements * static_cast<int64_t>(sizeof(float)));
    if (mine.ok()) mine = WriteMarker(directory, nonce);
  }
  SDP_RETURN_IF_ERROR(agree(mine, nonce));
  SDP_RETURN_IF_ERROR(agree(CheckMarker(directory, nonce), nonce));

  std::vector<std::string> written;
  for (const Shard& shard : shards) {
    if (shard.rank != rank) continue;
    mine = WriteShard(table, subnetwork, shard, directory);
    written.push_back(shard.file);
  }
  SDP_RETURN_IF_ERROR(agree(mine, nonce));

  if (rank == 0) {
    mine = WriteConfigAndIndex(spec, table, shards, directory);
    unlink(MarkerPath(directory).c_str());  // harmless when it stays
    written.push_back("config.json");
    if (shards.size() > 1) written.push_back("model.safetensors.index.json");
  }
  SDP_RETURN_IF_ERROR(agree(mine, nonce));
  return written;
}

}  // namespace sdp
