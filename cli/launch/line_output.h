// Buffers lines for a file descriptor that may not accept them yet.
#ifndef PENSTOCK_CLI_LAUNCH_LINE_OUTPUT_H_
#define PENSTOCK_CLI_LAUNCH_LINE_OUTPUT_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace penstock {

// Keeps lines until poll() reports that they can be written. So the caller never waits for a slow
// reader, such as a pager or a log on a stalled disk. Not thread-safe.
class LineOutput {
 public:
  // Add no more lines while this many bytes are waiting.
  static constexpr size_t kFullBytes = size_t{1} << 20;

  // Does not own `fd`.
  explicit LineOutput(int fd) : fd_(fd) {}

  int fd() const { return fd_; }
  bool empty() const { return written_ == text_.size(); }
  bool full() const { return text_.size() - written_ >= kFullBytes; }
  // Adds a line, given without its end. Drops it if the other side of the descriptor is closed.
  void Add(absl::string_view line);
  // Writes as much as possible without waiting. REQUIRES: poll() reported POLLOUT or POLLERR.
  void Write();
  // The errno of the write that lost lines; 0 if there was no error, or if only the reader is gone.
  int error() const { return error_; }
  // Drops all lines that are waiting.
  void Clear();

 private:
  const int fd_;
  std::string text_;
  size_t written_ = 0;  // Number of bytes of text_ that are written.
  bool closed_ = false;
  int error_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_LAUNCH_LINE_OUTPUT_H_
