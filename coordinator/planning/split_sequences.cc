#include "coordinator/planning/split_sequences.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

#include "common/base/check.h"

namespace sdp {

std::vector<int> SplitSequences(int sequences, const std::vector<double>& seconds) {
  return SplitSequences(sequences, seconds, std::vector<int>(seconds.size(), sequences));
}

std::vector<int> SplitSequences(int sequences, const std::vector<double>& seconds,
                                const std::vector<int>& most) {
  const int workers = static_cast<int>(seconds.size());
  SDP_CHECK(workers > 0 && sequences >= workers, "every worker needs a sequence");
  SDP_CHECK(std::accumulate(most.begin(), most.end(), int64_t{0}) >= sequences &&
                *std::min_element(most.begin(), most.end()) >= 1,
            "more sequences than workers may have");
  // Most of the shares in one go, rounded down; the rest one by one to whom it finishes first. Handing out
  // all of them like that is optimal, and none of these shares is above what it would give.
  double speed = 0;
  for (double time : seconds) speed += 1 / time;
  std::vector<int> shares(workers);
  for (int i = 0; i < workers; ++i) {
    const int even = static_cast<int>((sequences - workers) / (speed * seconds[i]) * (1 - 1e-9));
    shares[i] = std::min(std::max(1, even), most[i]);
  }
  int left = sequences - std::accumulate(shares.begin(), shares.end(), 0);
  using Finish = std::pair<double, int>;  // time with one sequence more, and rank
  std::priority_queue<Finish, std::vector<Finish>, std::greater<Finish>> next;
  const auto queue = [&](int i) {
    if (shares[i] < most[i]) next.emplace((shares[i] + 1) * seconds[i], i);
  };
  for (int i = 0; i < workers; ++i) queue(i);
  for (; left > 0; --left) {
    const int i = next.top().second;
    next.pop();
    ++shares[i];
    queue(i);
  }
  return shares;
}

}  // namespace sdp
