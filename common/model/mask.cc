#include "common/model/mask.h"

#include "absl/status/status.h"
#include "absl/strings/str_format.h"

namespace sdp {

Mask Mask::Full(int workers, int columns) {
  Mask mask(workers, columns);
  mask.bits_.assign(mask.bits_.size(), 1);
  return mask;
}

absl::StatusOr<Mask> Mask::FromRows(const std::vector<std::string>& rows) {
  const size_t columns = rows.empty() ? 0 : rows[0].size();
  Mask mask(static_cast<int>(rows.size()), static_cast<int>(columns));
  for (size_t rank = 0; rank < rows.size(); ++rank) {
    if (rows[rank].size() != columns) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "row %d of the mask has %d characters, but row 0 has %d", rank, rows[rank].size(), columns));
    }
    for (size_t column = 0; column < columns; ++column) {
      const char bit = rows[rank][column];
      if (bit != '0' && bit != '1') {
        return absl::InvalidArgumentError(absl::StrFormat(
            "row %d of the mask has a character other than '0' and '1' at column %d", rank, column));
      }
      mask.set(static_cast<Rank>(rank), static_cast<int>(column), bit == '1');
    }
  }
  return mask;
}

std::vector<Rank> Mask::Holders(int column) const {
  std::vector<Rank> holders;
  for (Rank rank = 0; rank < workers_; ++rank) {
    if (holds(rank, column)) holders.push_back(rank);
  }
  return holders;
}

int Mask::Held(Rank rank) const {
  int held = 0;
  for (int column = 0; column < columns_; ++column) held += holds(rank, column) ? 1 : 0;
  return held;
}

std::vector<std::string> Mask::Rows() const {
  std::vector<std::string> rows(workers_, std::string(columns_, '0'));
  for (Rank rank = 0; rank < workers_; ++rank) {
    for (int column = 0; column < columns_; ++column) {
      if (holds(rank, column)) rows[rank][column] = '1';
    }
  }
  return rows;
}

}  // namespace sdp
