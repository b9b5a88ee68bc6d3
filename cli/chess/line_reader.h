// Reads lines of a text file or of standard input.
#ifndef PENSTOCK_CLI_CHESS_LINE_READER_H_
#define PENSTOCK_CLI_CHESS_LINE_READER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/io/unique_fd.h"

namespace penstock {

// Uses bounded memory for any file. Not thread-safe.
class LineReader {
 public:
  static constexpr size_t kMaxLineBytes = 4096;

  // "-" is standard input, which stays open. `path` is a file or a pipe; errors are those of
  // OpenInput().
  static absl::StatusOr<LineReader> Open(const std::string& path);

  // Sets `line` to the next line without its '\n', valid until the next call. If a line is longer
  // than kMaxLineBytes, `line` has only its beginning. Returns false at the end. kCancelled: an
  // InterruptGuard took a signal while this waited.
  absl::StatusOr<bool> Next(absl::string_view& line);

  uint64_t line_number() const { return line_number_; }  // Number of the last line; the first is 1.
  uint64_t bytes_read() const { return bytes_read_; }

 private:
  LineReader(std::string path, UniqueFd owned, int fd)
      : path_(std::move(path)), owned_(std::move(owned)), fd_(fd) {}
  absl::StatusOr<bool> Fill();

  std::string path_;
  UniqueFd owned_;
  int fd_;
  std::vector<char> block_;
  size_t begin_ = 0;  // Start of the unread bytes in block_.
  std::string line_;
  uint64_t line_number_ = 0;
  uint64_t bytes_read_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_CHESS_LINE_READER_H_
