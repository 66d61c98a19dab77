#include "cli/format/table.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace sdp::cli {
namespace {

// Characters of UTF-8 text.
size_t Width(const std::string& text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; });
}

std::string Padded(std::string text, size_t width) {
  const size_t have = Width(text);
  if (have < width) text.append(width - have, ' ');
  return text;
}

}  // namespace

std::string OneLine(std::string text) {
  for (char& c : text) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) c = ' ';
  }
  return text;
}

void TextTable::AddRow(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = OneLine(std::move(cell));
  rows_.push_back(std::move(cells));
}

std::string TextTable::ToString() const {
  std::vector<size_t> widths(rows_[0].size(), 1);
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i]));
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      absl::StrAppend(&line, Padded(row[i].empty() ? "-" : row[i], widths[i]), "  ");
    }
    absl::StrAppend(&text, absl::StripTrailingAsciiWhitespace(line), "\n");
  }
  return text;
}

std::string TextFields::ToString() const {
  size_t width = 0;
  for (const auto& [label, value] : fields_) width = std::max(width, Width(label));
  std::string text;
  for (const auto& [label, value] : fields_) {
    const std::string line = absl::StrCat(Padded(label + ":", width + 3), value);
    absl::StrAppend(&text, absl::StripTrailingAsciiWhitespace(line), "\n");
  }
  return text;
}

}  // namespace sdp::cli
