#include "cli/launch/line_output.h"

#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"

namespace penstock {

void LineOutput::Add(absl::string_view line) {
  if (!closed_) absl::StrAppend(&text_, line, "\n");
}

// A pipe that is ready takes PIPE_BUF bytes at once; a larger write could wait for the reader.
void LineOutput::Write() {
  const size_t size = std::min<size_t>(text_.size() - written_, PIPE_BUF);
  const ssize_t count = write(fd_, text_.data() + written_, size);
  if (count < 0) {
    if (errno == EINTR || errno == EAGAIN) return;
    closed_ = true;
    if (errno != EPIPE) error_ = errno;
    return Clear();
  }
  written_ += static_cast<size_t>(count);
  if (empty()) return Clear();
  if (written_ >= kFullBytes) {
    text_.erase(0, written_);
    written_ = 0;
  }
}

void LineOutput::Clear() {
  text_.clear();
  written_ = 0;
}

}  // namespace penstock
