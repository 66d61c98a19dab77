// Plain text in columns.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace sdp::cli {

// `text` with line breaks and other control characters replaced: what others wrote must not spoil the layout.
std::string OneLine(std::string text);

// Columns two spaces apart, no trailing spaces, each line ended. Widths are in characters, not bytes.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> headers) : rows_{std::move(headers)} {}
  // As many cells as there are headers; empty ones show as "-", several lines as one.
  void AddRow(std::vector<std::string> cells);
  std::string ToString() const;

 private:
  std::vector<std::vector<std::string>> rows_;  // the headers first
};

// "label:  value" lines, values aligned.
class TextFields {
 public:
  void Add(std::string label, std::string value) { fields_.emplace_back(std::move(label), std::move(value)); }
  std::string ToString() const;

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

}  // namespace sdp::cli
