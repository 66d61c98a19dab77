// Plans as pictures.
#pragma once

#include <string>

#include "sdp/v1/plan.pb.h"

namespace sdp::cli {

// The mask as a self-contained SVG document: workers x blocks under a title with the number of workers and
// blocks, the active ratio, the gap and its bound. Follows the viewer's preference for light or dark. More
// than 96 workers or 160 blocks are folded into cells that show the held share.
std::string PlanSvg(const v1::Plan& plan);

}  // namespace sdp::cli
