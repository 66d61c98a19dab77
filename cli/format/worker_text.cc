#include "cli/format/worker_text.h"

#include "absl/strings/str_cat.h"
#include "cli/format/table.h"
#include "cli/format/units.h"
#include "common/wire/enum_text.h"

namespace sdp::cli {
namespace {

std::string Bytes(int64_t bytes) { return FormatBytes(static_cast<double>(bytes)); }

std::string Age(const v1::Worker& worker, absl::Time now) {
  return worker.has_register_time()
             ? ShortDuration(now - absl::FromUnixSeconds(worker.register_time().seconds()))
             : "";
}

}  // namespace

std::string WorkerTable(const std::vector<v1::Worker>& workers, bool wide, absl::Time now) {
  std::vector<std::string> headers = {"NAME", "STATE", "JOB", "RANK", "DEVICE", "MEMORY", "ADDRESS", "AGE"};
  if (wide) {
    for (const char* header : {"THREADS", "TENSORS", "RESIDENT", "VERSION", "INCARNATION", "REASON"}) {
      headers.push_back(header);
    }
  }
  TextTable table(headers);
  for (const v1::Worker& worker : workers) {
    std::vector<std::string> row = {worker.name(),
                                    ShortEnumName(worker.state()),
                                    worker.job(),
                                    worker.job().empty() ? "" : absl::StrCat(worker.rank()),
                                    worker.capacity().device(),
                                    Bytes(worker.capacity().memory_bytes()),
                                    worker.data_plane_address(),
                                    Age(worker, now)};
    if (wide) {
      row.push_back(absl::StrCat(worker.capacity().threads()));
      row.push_back(Bytes(worker.tensor_bytes()));
      row.push_back(Bytes(worker.resident_bytes()));
      row.push_back(worker.software_version());
      row.push_back(absl::StrCat(worker.incarnation()));
      row.push_back(worker.state_reason());
    }
    table.AddRow(std::move(row));
  }
  return table.ToString();
}

std::string DescribeWorker(const v1::Worker& worker, absl::Time now) {
  TextFields fields;
  fields.Add("Name", worker.name());
  const std::string reason = worker.state_reason().empty() ? "" : absl::StrCat(": ", worker.state_reason());
  fields.Add("State", absl::StrCat(ShortEnumName(worker.state()), reason));
  if (!worker.job().empty()) fields.Add("Job", absl::StrCat(worker.job(), ", rank ", worker.rank()));
  fields.Add("Device", absl::StrCat(worker.capacity().device(), ", ", Bytes(worker.capacity().memory_bytes()),
                                    ", ", worker.capacity().threads(), " threads"));
  fields.Add("Data-plane address", worker.data_plane_address());
  fields.Add("Tensor memory", Bytes(worker.tensor_bytes()));
  fields.Add("Resident memory", Bytes(worker.resident_bytes()));
  fields.Add("Incarnation", absl::StrCat(worker.incarnation()));
  fields.Add("Version", worker.software_version());
  if (worker.has_register_time()) fields.Add("Registered", absl::StrCat(Age(worker, now), " ago"));
  return fields.ToString();
}

}  // namespace sdp::cli
