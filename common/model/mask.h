// Which worker holds which maskable component.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/ids.h"

namespace sdp {

// m in {0,1}^(workers x columns); docs/method.md has the notation.
class Mask {
 public:
  Mask() = default;
  // All zero.
  Mask(int workers, int columns) : workers_(workers), columns_(columns), bits_(workers * columns, 0) {}
  // All one.
  static Mask Full(int workers, int columns);
  // From rows of '0' and '1'. INVALID_ARGUMENT: rows of different lengths, or another character.
  static absl::StatusOr<Mask> FromRows(const std::vector<std::string>& rows);

  int workers() const { return workers_; }
  int columns() const { return columns_; }
  bool holds(Rank rank, int column) const { return bits_[rank * columns_ + column] != 0; }
  void set(Rank rank, int column, bool held) { bits_[rank * columns_ + column] = held ? 1 : 0; }

  // Ranks that hold `column`, ascending (S_b).
  std::vector<Rank> Holders(int column) const;
  // Number of columns that `rank` holds.
  int Held(Rank rank) const;
  // One string of '0' and '1' per rank.
  std::vector<std::string> Rows() const;

  friend bool operator==(const Mask& a, const Mask& b) {
    return a.workers_ == b.workers_ && a.columns_ == b.columns_ && a.bits_ == b.bits_;
  }

 private:
  int workers_ = 0;
  int columns_ = 0;
  std::vector<char> bits_;
};

}  // namespace sdp
