#include "records/container/pax_records.h"

#include <charconv>
#include <system_error>

namespace penstock {

bool ParsePaxNumber(absl::string_view text, uint64_t& number) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end;
}

bool PaxRecords::Next(PaxRecord& record) {
  if (left_.empty() || failed_) return false;
  const size_t space = left_.find(' ');
  uint64_t length;
  if (space == left_.npos || !ParsePaxNumber(left_.substr(0, space), length)) return Fail();
  if (length > left_.size() || length < space + 2 || left_[length - 1] != '\n') return Fail();
  const absl::string_view text = left_.substr(space + 1, length - space - 2);
  const size_t equals = text.find('=');
  if (equals == text.npos || equals == 0) return Fail();
  record = {text.substr(0, equals), text.substr(equals + 1)};
  left_.remove_prefix(length);
  return true;
}

}  // namespace penstock
