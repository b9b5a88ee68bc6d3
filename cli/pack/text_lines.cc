#include "cli/pack/text_lines.h"

#include <algorithm>
#include <span>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/byte_size.h"
#include "base/status.h"

namespace penstock {
namespace {

constexpr size_t kTextBytes = size_t{256} << 10;
constexpr absl::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

absl::StatusOr<bool> TextLines::Next(absl::string_view& line) {
  for (size_t searched = 0;;) {
    const auto from = buffer_.begin() + static_cast<ptrdiff_t>(begin_ + searched);
    const auto end = std::find(from, buffer_.end(), '\n');
    const auto size = static_cast<size_t>(end - buffer_.begin()) - begin_;
    if (end != buffer_.end() || (ended_ && size > 0)) {
      line = absl::string_view(buffer_.data() + begin_, size);
      begin_ += size + (end != buffer_.end());
      if (++number_ == 1) absl::ConsumePrefix(&line, kByteOrderMark);
      return true;
    }
    if (ended_) return false;
    if (size > kMaxLineBytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("line ", number_ + 1, " has more than ", FormatByteSize(kMaxLineBytes)));
    }
    searched = size;
    PENSTOCK_ASSIGN_OR_RETURN(const bool more, ReadMore());
    ended_ = !more;
  }
}

absl::StatusOr<bool> TextLines::ReadMore() {
  buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<ptrdiff_t>(begin_));
  begin_ = 0;
  const size_t before = buffer_.size();
  buffer_.resize(before + kTextBytes);
  const std::span<uint8_t> room(reinterpret_cast<uint8_t*>(buffer_.data()) + before, kTextBytes);
  const absl::StatusOr<size_t> size = bytes_.Read(room);
  buffer_.resize(before + size.value_or(0));
  if (!size.ok()) return size.status();
  return *size > 0;
}

}  // namespace penstock
