#include "worker/training/memory_counter.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <vector>

#include "ATen/core/Tensor.h"
#include "ATen/ops/empty.h"
#include "ATen/ops/ones.h"

namespace sdp {
namespace {

TEST(MemoryCounterTest, CountsTensorsAndTheirPeak) {
  InstallMemoryCounter();
  InstallMemoryCounter();
  const int64_t before = TensorBytes();
  ResetPeakTensorBytes();
  {
    at::Tensor kept = at::ones({1000}, at::kFloat);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(kept.data_ptr()) % 64, 0u);
    EXPECT_EQ(TensorBytes() - before, 4000);
    const at::Tensor view = kept.narrow(0, 10, 20);
    const at::Tensor none = at::empty({0}, at::kFloat);
    EXPECT_EQ(TensorBytes() - before, 4000) << "views and empty tensors take nothing";
    kept = kept.repeat({3});
    EXPECT_EQ(TensorBytes() - before, 16000) << "the view keeps the first alive";
    EXPECT_EQ(kept.sum().item<float>(), 3000.0f);
  }
  EXPECT_EQ(TensorBytes(), before);
  EXPECT_GE(PeakTensorBytes() - before, 16000);
  ResetPeakTensorBytes();
  EXPECT_EQ(PeakTensorBytes(), before);
}

TEST(MemoryCounterTest, CountsFromManyThreads) {
  InstallMemoryCounter();
  const int64_t before = TensorBytes();
  ResetPeakTensorBytes();
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([] {
      for (int i = 0; i < 2000; ++i) at::empty({1 + i % 50}, at::kFloat);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(TensorBytes(), before);
  EXPECT_LE(PeakTensorBytes() - before, 4 * 50 * 4);
}

}  // namespace
}  // namespace sdp
