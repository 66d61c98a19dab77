// How long the coordinator waits for what.
#pragma once

#include "absl/time/time.h"

namespace sdp::coordinator {

// The defaults are those of the flags in main.cc.
struct Timing {
  absl::Duration heartbeat = absl::Seconds(1);
  // Without a heartbeat for this long a worker is lost.
  absl::Duration lost_after = absl::Seconds(5);
  // From Assignment until every member is ready.
  absl::Duration prepare_timeout = absl::Seconds(120);
  // Least time without progress after which a running job fails; grows with the measured step time.
  absl::Duration progress_timeout = absl::Seconds(30);
  // The same while a member validates or writes the model: no step is committed then.
  absl::Duration long_phase_timeout = absl::Minutes(10);
  // Limit of one collective, passed on to the workers.
  absl::Duration collective_timeout = absl::Seconds(60);
};

}  // namespace sdp::coordinator
