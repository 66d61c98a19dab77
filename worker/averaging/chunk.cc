#include <algorithm>

#include "worker/averaging/communicator.h"

namespace sdp {

Chunk ChunkOf(int64_t elements, int members, int position) {
  const int64_t size = elements / members;
  const int64_t larger = elements % members;  // the first ones get one element more
  const int64_t begin = position * size + std::min<int64_t>(position, larger);
  return Chunk{begin, begin + size + (position < larger ? 1 : 0)};
}

}  // namespace sdp
