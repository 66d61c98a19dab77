#include "tests/cluster.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "common/base/check.h"
#include "common/base/random.h"
#include "common/rpc/options.h"
#include "common/rpc/status.h"
#include "common/wire/wire.h"

namespace sdp::testing {
namespace {

constexpr char kCoordinator[] = "coordinator/coordinator";
constexpr char kWorker[] = "worker/worker";
constexpr char kSdpctl[] = "cli/sdpctl";

bool IsFinal(v1::JobState state) {
  return state == v1::JOB_STATE_SUCCEEDED || state == v1::JOB_STATE_FAILED ||
         state == v1::JOB_STATE_CANCELLED;
}

}  // namespace

Cluster::Cluster(const std::vector<std::string>& coordinator_flags) {
  const std::string port_file = folder_ / "ports.json";
  std::vector<std::string> arguments = {kCoordinator,  "--listen",    "127.0.0.1:0", "--metrics-listen",
                                        "127.0.0.1:0", "--port-file", port_file};
  arguments.insert(arguments.end(), coordinator_flags.begin(), coordinator_flags.end());
  coordinator_ = std::make_unique<Process>(arguments, folder_ / "coordinator.log");
  SDP_CHECK(Eventually(kPatience, [&] { return !ReadTestFile(port_file).empty(); }),
            absl::StrCat("the coordinator does not serve:\n", Logs()).c_str());
  const nlohmann::json ports = nlohmann::json::parse(ReadTestFile(port_file));
  address_ = absl::StrCat("127.0.0.1:", ports.at("grpc_port").get<int>());
  metrics_address_ = absl::StrCat("127.0.0.1:", ports.at("metrics_port").get<int>());
  channel_ = MakeChannel(address_);
  jobs_ = v1::JobService::NewStub(channel_);
  cluster_ = v1::ClusterService::NewStub(channel_);
}

Process& Cluster::StartWorker(const std::string& name, const std::vector<std::string>& flags,
                              Process::Options options) {
  std::vector<std::string> arguments = {kWorker, "--coordinator", address_, "--name", name, "--threads", "1"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  // A restarted worker goes on in the same log.
  workers_[name] = std::make_unique<Process>(arguments, folder_ / (name + ".log"), std::move(options));
  return *workers_[name];
}

void Cluster::StartWorkers(int count) {
  for (int i = 0; i < count; ++i) StartWorker(absl::StrCat("w", i));
  for (int i = 0; i < count; ++i) {
    const std::string name = absl::StrCat("w", i);
    SDP_CHECK(WaitForWorkerState(name, v1::WORKER_STATE_IDLE),
              absl::StrCat(name, " did not register:\n", Logs()).c_str());
  }
}

Result Cluster::Sdpctl(std::vector<std::string> arguments, absl::Duration timeout) {
  arguments.insert(arguments.begin(), {kSdpctl, "--coordinator", address_});
  return RunCommand(arguments, timeout);
}

std::string Cluster::Submit(const std::string& yaml) {
  v1::CreateJobRequest request;
  const std::vector<SpecProblem> problems = ParseSpecText(yaml, request.mutable_spec());
  SDP_CHECK(problems.empty(), absl::StrCat(ProblemsToStatus(problems).ToString(), "\n", yaml).c_str());
  grpc::ClientContext context;
  SetDeadline(context, kPatience);
  v1::CreateJobResponse response;
  const grpc::Status status = jobs_->CreateJob(&context, request, &response);
  SDP_CHECK(status.ok(), absl::StrCat(status.error_message(), "\n", yaml).c_str());
  return response.job().name();
}

v1::Job Cluster::Get(const std::string& name) {
  grpc::ClientContext context;
  SetDeadline(context, kPatience);
  v1::GetJobRequest request;
  request.set_name(name);
  v1::GetJobResponse response;
  const grpc::Status status = jobs_->GetJob(&context, request, &response);
  EXPECT_TRUE(status.ok()) << name << ": " << status.error_message();
  return response.job();
}

v1::Job Cluster::WaitForState(const std::string& name, v1::JobState state, absl::Duration timeout) {
  v1::Job job;
  Eventually(timeout, [&] {
    job = Get(name);
    return job.state() == state || IsFinal(job.state());
  });
  EXPECT_EQ(v1::JobState_Name(job.state()), v1::JobState_Name(state)) << job.state_reason() << "\n" << Logs();
  return job;
}

v1::Job Cluster::WaitForStep(const std::string& name, int64_t steps) {
  v1::Job job;
  Eventually(kPatience, [&] {
    job = Get(name);
    return job.progress().step() >= steps || IsFinal(job.state());
  });
  EXPECT_GE(job.progress().step(), steps) << job.state_reason() << "\n" << Logs();
  return job;
}

absl::StatusOr<v1::Worker> Cluster::GetWorker(const std::string& name) {
  grpc::ClientContext context;
  SetDeadline(context, kPatience);
  v1::GetWorkerRequest request;
  request.set_name("workers/" + name);
  v1::GetWorkerResponse response;
  const grpc::Status status = cluster_->GetWorker(&context, request, &response);
  if (!status.ok()) return FromGrpc(status);
  return response.worker();
}

bool Cluster::WaitForWorkerState(const std::string& name, v1::WorkerState state, absl::Duration timeout) {
  return Eventually(timeout, [&] {
    const absl::StatusOr<v1::Worker> worker = GetWorker(name);
    return worker.ok() && worker->state() == state;
  });
}

std::vector<v1::JobEvent> Cluster::Events(const std::string& name) {
  grpc::ClientContext context;
  SetDeadline(context, kPatience);
  v1::WatchJobRequest request;
  request.set_name(name);
  std::vector<v1::JobEvent> events;
  auto reader = jobs_->WatchJob(&context, request);
  for (v1::WatchJobResponse response; reader->Read(&response);) {
    if (response.has_event()) events.push_back(response.event());
  }
  const grpc::Status status = reader->Finish();
  EXPECT_TRUE(status.ok()) << status.error_message();
  return events;
}

std::string Cluster::Logs() const {
  std::string logs;
  if (coordinator_) absl::StrAppend(&logs, "--- coordinator\n", coordinator_->Log());
  for (const auto& [name, process] : workers_) absl::StrAppend(&logs, "--- ", name, "\n", process->Log());
  return logs;
}

void WriteShards(const std::string& directory, int64_t train_bytes, int64_t validation_bytes) {
  static const char* const kWords[] = {"the ", "lamp ",  "of ",   "a ",      "river ",
                                       "and ", "stone ", "sang ", "slowly. "};
  const auto write = [&](const std::string& name, int64_t bytes, uint64_t seed) {
    Random random(seed);
    std::string text;
    while (static_cast<int64_t>(text.size()) < bytes) text += kWords[random.Below(std::size(kWords))];
    text.resize(bytes);
    // llm.c's layout: magic, version, number of tokens, zeros up to 256 words; then 16-bit tokens.
    std::vector<int32_t> header(256, 0);
    header[0] = 20240520;
    header[1] = 1;
    header[2] = static_cast<int32_t>(bytes);
    std::string file(reinterpret_cast<const char*>(header.data()), header.size() * sizeof(int32_t));
    for (const char c : text) file += {c, '\0'};
    WriteTestFile(absl::StrCat(directory, "/", name), file);
  };
  write("train.bin", train_bytes, 1);
  write("validation.bin", validation_bytes, 2);
}

std::string TinySpec::Yaml() const {
  return absl::Substitute(R"(
model: {llama: {layers: $0, hidden: 32, heads: 2, ffn: 64, vocab: 256, seq_len: 32}}
data: {train_shards: [$1/train.bin], validation_shards: [$1/validation.bin]}
masking: {active_ratio: $2}
optimizer: {adamw: {learning_rate: 3e-3}}
batch: {global_sequences: 8}
stop: {steps: $3}
evaluation: {interval_steps: $4, max_sequences: 16}
workers: {min: $5, max: $5}
output_directory: $6
seed: 1
)",
                          layers, data_directory, active_ratio, steps, evaluation_interval, workers,
                          output_directory) +
         extra;
}

}  // namespace sdp::testing
