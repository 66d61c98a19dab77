// How many sequences of each step every worker runs.
#pragma once

#include <vector>

namespace sdp {

// Shares of `sequences` such that the longest step is as short as it can be, each worker getting at least
// one: `seconds` is the time of one sequence by rank, in any unit, all positive. `sequences` is at least the
// number of workers. Equal times give equal shares, the remainder to the first ranks.
std::vector<int> SplitSequences(int sequences, const std::vector<double>& seconds);

// The same where worker i gets at most most[i] of them, at least 1; together at least `sequences`.
std::vector<int> SplitSequences(int sequences, const std::vector<double>& seconds,
                                const std::vector<int>& most);

}  // namespace sdp
