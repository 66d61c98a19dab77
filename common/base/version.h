// Version of the software.
#pragma once

namespace sdp {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace sdp
