// Reads lines of a file that may be large.
#ifndef PENSTOCK_CLI_PACK_TEXT_LINES_H_
#define PENSTOCK_CLI_PACK_TEXT_LINES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/io/byte_stream.h"

namespace penstock {

// Skips a byte order mark at the beginning of the file. Uses bounded memory: one line and 256 KiB.
// Not thread-safe.
class TextLines {
 public:
  static constexpr size_t kMaxLineBytes = size_t{64} << 20;

  // `bytes` must outlive this.
  explicit TextLines(ByteStream& bytes) : bytes_(bytes) {}

  // Sets `line` to the next line without its line feed, valid until the next call. Returns false at
  // the end. kResourceExhausted: the line has more than kMaxLineBytes; call nothing after that.
  absl::StatusOr<bool> Next(absl::string_view& line);

  // Number of the last line; the first is 1.
  uint64_t number() const { return number_; }

 private:
  // Returns false at the end.
  absl::StatusOr<bool> ReadMore();

  ByteStream& bytes_;
  std::vector<char> buffer_;  // Bytes that are not yet a line: [begin_, size).
  size_t begin_ = 0;
  bool ended_ = false;
  uint64_t number_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_PACK_TEXT_LINES_H_
