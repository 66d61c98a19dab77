// Masks drawn with characters.
#pragma once

#include <string>

#include "sdp/v1/plan.pb.h"

namespace sdp::cli {

// What the terminal can show.
struct Terminal {
  bool utf8 = false;  // more than ASCII
  int columns = 80;
};

// Workers x blocks, one character each, under a header of block numbers that are read downwards. What is
// wider than the terminal goes on below, in further stretches of blocks. More than 40 workers or 256 blocks
// are folded into cells of several, which show the held share; a legend explains them. Empty when there is no
// mask.
std::string MaskDrawing(const v1::Plan& plan, const Terminal& terminal);

}  // namespace sdp::cli
