// Splits comma-separated values (RFC 4180) into rows.
#ifndef PENSTOCK_CLI_PACK_CSV_ROWS_H_
#define PENSTOCK_CLI_PACK_CSV_ROWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/io/byte_stream.h"
#include "cli/pack/text_lines.h"

namespace penstock {

// Lines end with CR LF or LF. A quoted cell may hold commas, line breaks and doubled quotes. Empty
// lines are skipped. Uses bounded memory: one row, whose cells take at most `max_row_bytes`. Not
// thread-safe.
class CsvRows {
 public:
  // `bytes` must outlive this.
  explicit CsvRows(ByteStream& bytes, size_t max_row_bytes = TextLines::kMaxLineBytes)
      : lines_(bytes), max_row_bytes_(max_row_bytes) {}

  // Sets `cells` to those of the next row. Returns false at the end. kInvalidArgument: the quotes
  // of a row are wrong; the next line may be good. Other errors end the file.
  absl::StatusOr<bool> Next(std::vector<std::string>& cells);

  // Number of the line on which the last row begins.
  uint64_t line() const { return line_; }

 private:
  enum class State { kBegin, kPlain, kQuoted, kBehindQuote };

  absl::Status TakeLine(absl::string_view line, std::vector<std::string>& cells);
  // Counts memory of the row.
  absl::Status Grow(size_t bytes);
  absl::Status TakeByte(char byte, std::vector<std::string>& cells);

  TextLines lines_;
  const size_t max_row_bytes_;
  uint64_t line_ = 0;
  State state_ = State::kBegin;  // State of the cell that is being read.
  size_t row_bytes_ = 0;         // Memory of the row's cells.
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_PACK_CSV_ROWS_H_
