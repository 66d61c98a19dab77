#include "worker/training/memory_counter.h"

#include <atomic>
#include <cstring>

#include "c10/core/Allocator.h"
#include "c10/core/impl/alloc_cpu.h"

namespace sdp {
namespace {

std::atomic<int64_t> current_bytes{0};
std::atomic<int64_t> peak_bytes{0};

void CountAllocation(int64_t bytes) {
  const int64_t current = current_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  int64_t peak = peak_bytes.load(std::memory_order_relaxed);
  while (peak < current && !peak_bytes.compare_exchange_weak(peak, current, std::memory_order_relaxed)) {
  }
}

// Each block begins with its size, in a prefix that keeps the data as aligned as LibTorch's allocator would.
constexpr size_t kPrefix = 64;

void Free(void* data) {
  if (data == nullptr) return;
  char* block = static_cast<char*>(data) - kPrefix;
  int64_t bytes = 0;
  std::memcpy(&bytes, block, sizeof(bytes));
  current_bytes.fetch_sub(bytes, std::memory_order_relaxed);
  c10::free_cpu(block);
}

class CountingAllocator : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t size) override {
    const c10::Device cpu(c10::DeviceType::CPU);
    if (size == 0) return {nullptr, nullptr, &Free, cpu};
    char* block = static_cast<char*>(c10::alloc_cpu(size + kPrefix));  // throws when memory is short
    const int64_t bytes = static_cast<int64_t>(size);
    std::memcpy(block, &bytes, sizeof(bytes));
    CountAllocation(bytes);
    char* data = block + kPrefix;
    return {data, data, &Free, cpu};
  }

  c10::DeleterFnPtr raw_deleter() const override { return &Free; }

  void copy_data(void* to, const void* from, std::size_t count) const override {
    default_copy_data(to, from, count);
  }
};

}  // namespace

void InstallMemoryCounter() {
  // Never destroyed: tensors of static lifetime may be freed after everything else.
  static CountingAllocator* const allocator = [] {
    auto* counting = new CountingAllocator;
    c10::SetAllocator(c10::DeviceType::CPU, counting, /*priority=*/255);
    return counting;
  }();
  (void)allocator;  // only there to run the initialiser once
}

int64_t TensorBytes() { return current_bytes.load(std::memory_order_relaxed); }

int64_t PeakTensorBytes() { return peak_bytes.load(std::memory_order_relaxed); }

void ResetPeakTensorBytes() {
  peak_bytes.store(current_bytes.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

}  // namespace sdp
