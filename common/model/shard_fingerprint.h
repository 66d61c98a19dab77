// Identity of a data file.
#pragma once

#include <cstdint>
#include <string>

namespace sdp {

// Equal on two hosts: the files can be taken as the same.
struct ShardFingerprint {
  std::string path;
  int64_t bytes = 0;
  std::string sampled_hash;  // XXH3 over the size, both ends and evenly spread blocks; 16 hexadecimal digits
};

}  // namespace sdp
