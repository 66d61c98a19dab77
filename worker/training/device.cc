#include "worker/training/device.h"

#include "ATen/Parallel.h"
#include "worker/training/memory_counter.h"

namespace sdp {

void SetUpDevice(int threads) {
  InstallMemoryCounter();
  at::set_num_threads(threads);
  // Operators run one after another in the step loop: threads beside it would only take cores from it.
  at::set_num_interop_threads(1);
}

}  // namespace sdp
