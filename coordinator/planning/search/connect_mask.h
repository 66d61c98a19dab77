// Connecting the workers of a mask.
#pragma once

#include "common/model/mask.h"

namespace sdp {

// Connects the worker-component graph without changing the number of holders of any component or the number
// of components of any worker. Needs at least workers + columns - 1 holdings, and none of both without one.
void Connect(Mask& mask);

}  // namespace sdp
