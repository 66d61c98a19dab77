#include "cli/format/worker_text.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sdp::cli {
namespace {

using testing::HasSubstr;

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'060);

v1::Worker BusyWorker() {
  v1::Worker worker;
  worker.set_name("workers/a");
  worker.set_incarnation(17);
  worker.set_state(v1::WORKER_STATE_BUSY);
  worker.set_state_reason("trains");
  worker.set_job("jobs/j");
  worker.set_rank(0);
  worker.set_data_plane_address("10.0.0.1");
  worker.mutable_capacity()->set_device("cpu");
  worker.mutable_capacity()->set_memory_bytes(8ll << 30);
  worker.mutable_capacity()->set_threads(2);
  worker.set_software_version("0.1.0");
  worker.mutable_register_time()->set_seconds(1'700'000'000);
  worker.set_resident_bytes(1 << 20);
  return worker;
}

TEST(WorkerTable, OneRowPerWorker) {
  v1::Worker idle = BusyWorker();
  idle.set_name("workers/b");
  idle.set_state(v1::WORKER_STATE_IDLE);
  idle.clear_job();
  EXPECT_EQ(WorkerTable({BusyWorker(), idle}, /*wide=*/false, kNow),
            "NAME       STATE  JOB     RANK  DEVICE  MEMORY    ADDRESS   AGE\n"
            "workers/a  busy   jobs/j  0     cpu     8.00 GiB  10.0.0.1  1m00s\n"
            "workers/b  idle   -       -     cpu     8.00 GiB  10.0.0.1  1m00s\n");
}

TEST(WorkerTable, WideAddsProcessAndReason) {
  const std::string table = WorkerTable({BusyWorker()}, /*wide=*/true, kNow);
  for (const char* cell : {"1.00 MiB", "0.1.0", "17", "trains"}) EXPECT_THAT(table, HasSubstr(cell));
}

TEST(DescribeWorker, ShowsEverything) {
  const std::string text = DescribeWorker(BusyWorker(), kNow);
  for (const char* part : {"workers/a", "busy: trains", "jobs/j, rank 0", "cpu, 8.00 GiB, 2 threads",
                           "10.0.0.1", "17", "1m00s ago"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

}  // namespace
}  // namespace sdp::cli
