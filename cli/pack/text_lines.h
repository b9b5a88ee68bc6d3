// Lines of a file that may be large.
#ifndef PENSTOCK_CLI_PACK_TEXT_LINES_H_
#define PENSTOCK_CLI_PACK_TEXT_LINES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/io/byte_stream.h"

namespace penstock {

// A byte order mark at the beginning of the file is left out. Bounded memory: a line and 256 KiB.
// Not thread-safe.
class TextLines {
 public:
  static constexpr size_t kMaxLineBytes = size_t{64} << 20;

  // `bytes` must outlive this.
  explicit TextLines(ByteStream& bytes) : bytes_(bytes) {}

  // The next line without its line feed, valid until the next call. False: the end.
  // kResourceExhausted: it has more than kMaxLineBytes; nothing may follow.
  absl::StatusOr<bool> Next(absl::string_view& line);

  // The number of the last line; the first is 1.
  uint64_t number() const { return number_; }

 private:
  // False: the end.
  absl::StatusOr<bool> ReadMore();

  ByteStream& bytes_;
  std::vector<char> buffer_;  // What is not yet a line: [begin_, size).
  size_t begin_ = 0;
  bool ended_ = false;
  uint64_t number_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_PACK_TEXT_LINES_H_
