#include "coordinator/planning/split_sequences.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

#include "common/base/check.h"

namespace sdp {

std::vector<int> SplitSequences(int sequences, const std::vector<double>& seconds) {
  const int workers = static_cast<int>(seconds.size());
  SDP_CHECK(workers > 0 && sequences >= workers, "every worker needs a sequence");
  // Most of the shares in one go, rounded down; the rest one by one to whom it finishes first. Handing out
  // all of them like that is optimal, and none of these shares is above what it would give.
  double speed = 0;
  for (double time : seconds) speed += 1 / time;
  std::vector<int> shares(workers);
  for (int i = 0; i < workers; ++i) {
    shares[i] = std::max(1, static_cast<int>((sequences - workers) / (speed * seconds[i]) * (1 - 1e-9)));
  }
  int left = sequences - std::accumulate(shares.begin(), shares.end(), 0);
  using Finish = std::pair<double, int>;  // time with one sequence more, and rank
  std::priority_queue<Finish, std::vector<Finish>, std::greater<Finish>> next;
  for (int i = 0; i < workers; ++i) next.emplace((shares[i] + 1) * seconds[i], i);
  for (; left > 0; --left) {
    const int i = next.top().second;
    next.pop();
    ++shares[i];
    next.emplace((shares[i] + 1) * seconds[i], i);
  }
  return shares;
}

}  // namespace sdp
