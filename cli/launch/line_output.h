// Lines on their way to a file descriptor that may not take them.
#ifndef PENSTOCK_CLI_LAUNCH_LINE_OUTPUT_H_
#define PENSTOCK_CLI_LAUNCH_LINE_OUTPUT_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace penstock {

// Keeps lines until poll() says that they can be written, so that who prints them never waits for
// who reads them: a pager, a log on a disk that stands still. Not thread-safe.
class LineOutput {
 public:
  // Above this nothing more should be added.
  static constexpr size_t kFullBytes = size_t{1} << 20;

  // Does not own `fd`.
  explicit LineOutput(int fd) : fd_(fd) {}

  int fd() const { return fd_; }
  bool empty() const { return written_ == text_.size(); }
  bool full() const { return text_.size() - written_ >= kFullBytes; }
  // Without its end. Of a descriptor that was closed at the other side nothing is kept.
  void Add(absl::string_view line);
  // What is kept goes as far as it can without waiting. REQUIRES: poll() said POLLOUT or POLLERR.
  void Write();
  // Why lines were lost, an errno; 0: none were, but perhaps because their reader had gone.
  int error() const { return error_; }
  // Forgets what is kept.
  void Clear();

 private:
  const int fd_;
  std::string text_;
  size_t written_ = 0;  // Of text_.
  bool closed_ = false;
  int error_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_LAUNCH_LINE_OUTPUT_H_
