#include "cli/chess/line_reader.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/io/input_file.h"
#include "base/status.h"
#include "cli/terminal/interrupt.h"

namespace penstock {
namespace {

constexpr size_t kBlockBytes = size_t{1} << 16;

}  // namespace

absl::StatusOr<LineReader> LineReader::Open(const std::string& path) {
  if (path == "-") return LineReader("standard input", UniqueFd(), STDIN_FILENO);
  PENSTOCK_ASSIGN_OR_RETURN(InputFile input,
                            OpenInput(path, kWriterPatience, &InterruptGuard::Check));
  const int number = input.fd.get();
  LineReader reader(path, std::move(input.fd), number);
  reader.block_.assign(input.first.begin(), input.first.end());
  reader.bytes_read_ = input.first.size();
  return reader;
}

absl::StatusOr<bool> LineReader::Next(absl::string_view& line) {
  line_.clear();
  while (true) {
    if (begin_ == block_.size()) {
      PENSTOCK_ASSIGN_OR_RETURN(const bool more, Fill());
      if (!more && line_.empty()) return false;
      if (!more) break;  // The last line has no '\n'.
    }
    const auto start = block_.begin() + static_cast<std::ptrdiff_t>(begin_);
    const auto end = std::find(start, block_.end(), '\n');
    const size_t room = kMaxLineBytes - line_.size();
    line_.append(start, start + std::min<std::ptrdiff_t>(end - start, room));
    const bool is_complete = end != block_.end();
    begin_ = end - block_.begin() + (is_complete ? 1 : 0);
    if (is_complete) break;
  }
  ++line_number_;
  line = line_;
  return true;
}

absl::StatusOr<bool> LineReader::Fill() {
  block_.resize(kBlockBytes);
  begin_ = 0;
  ssize_t count;
  while ((count = read(fd_, block_.data(), block_.size())) < 0) {
    const int error = errno;
    block_.clear();
    if (error != EINTR) return ErrnoToStatus(error, path_);
    PENSTOCK_RETURN_IF_ERROR(InterruptGuard::Check());
    block_.resize(kBlockBytes);
  }
  block_.resize(count);
  bytes_read_ += count;
  return count > 0;
}

}  // namespace penstock
