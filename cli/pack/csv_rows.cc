#include "cli/pack/csv_rows.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/byte_size.h"
#include "base/status.h"

namespace penstock {

absl::StatusOr<bool> CsvRows::Next(std::vector<std::string>& cells) {
  absl::string_view line;
  do {
    PENSTOCK_ASSIGN_OR_RETURN(const bool more, lines_.Next(line));
    if (!more) return false;
    line_ = lines_.number();
  } while (line.empty() || line == "\r");
  cells.assign(1, "");
  state_ = State::kBegin;
  row_bytes_ = 0;
  PENSTOCK_RETURN_IF_ERROR(TakeLine(line, cells));
  while (state_ == State::kQuoted) {
    PENSTOCK_RETURN_IF_ERROR(Grow(1));
    cells.back().push_back('\n');
    PENSTOCK_ASSIGN_OR_RETURN(const bool more, lines_.Next(line));
    if (!more)
      return absl::InvalidArgumentError(
          "a quoted cell has no closing quote before the end of the file");
    PENSTOCK_RETURN_IF_ERROR(TakeLine(line, cells));
  }
  return true;
}

absl::Status CsvRows::Grow(size_t bytes) {
  row_bytes_ += bytes;
  if (row_bytes_ <= max_row_bytes_) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("the cells of a row take more than ",
                                                   FormatByteSize(max_row_bytes_),
                                                   "; is a quote not closed?"));
}

absl::Status CsvRows::TakeLine(absl::string_view line, std::vector<std::string>& cells) {
  PENSTOCK_RETURN_IF_ERROR(Grow(line.size()));
  for (size_t at = 0; at < line.size(); ++at) {
    const bool line_end = line[at] == '\r' && at + 1 == line.size();
    if (line_end && state_ != State::kQuoted) break;
    PENSTOCK_RETURN_IF_ERROR(TakeByte(line[at], cells));
  }
  return absl::OkStatus();
}

absl::Status CsvRows::TakeByte(char byte, std::vector<std::string>& cells) {
  std::string& cell = cells.back();
  if (byte == '"' && state_ == State::kBegin) {
    state_ = State::kQuoted;
  } else if (byte == '"' && state_ == State::kQuoted) {
    state_ = State::kBehindQuote;
  } else if (byte == '"' && state_ == State::kBehindQuote) {
    cell.push_back('"');
    state_ = State::kQuoted;
  } else if (byte == ',' && state_ != State::kQuoted) {
    PENSTOCK_RETURN_IF_ERROR(Grow(sizeof(cell)));
    cells.emplace_back();
    state_ = State::kBegin;
  } else if (byte == '"' || state_ == State::kBehindQuote) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cell ", cells.size(),
        byte == '"'
            ? ": a quote inside an unquoted cell; quote the whole cell and double this quote"
            : ": text after the closing quote"));
  } else {
    cell.push_back(byte);
    if (state_ == State::kBegin) state_ = State::kPlain;
  }
  return absl::OkStatus();
}

}  // namespace penstock
