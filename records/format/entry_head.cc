#include "records/format/entry_head.h"

#include <algorithm>

namespace penstock {

EntryHead::EntryHead(absl::string_view name, FeatureType type) : name_(name), type_(type) {
  constexpr size_t kMostInEntry = 0x7f;
  const size_t size = kAroundName + name.size();
  // If a length takes more than one byte, nothing matches.
  if (size - kBeforeEntry > kMostInEntry) return;
  size_ = size;
  most_values_ = kMostInEntry + kBeforeEntry - size;
  const auto byte = [](size_t value) { return static_cast<char>(value); };
  std::string bytes = {'\x0a', byte(size - kBeforeEntry), '\x0a', byte(name.size())};
  bytes.append(name.data(), name.size());
  bytes += {'\x12', 4, byte(static_cast<size_t>(type) << 3 | 2), 2, '\x0a', 0};
  std::string lengths(size, 0);
  for (const size_t at : {size_t{1}, size - 5, size - 3, size - 1}) lengths[at] = 1;
  const size_t last = size - sizeof(uint64_t);
  const std::array<size_t, 3> offsets = {0, std::min(sizeof(uint64_t), last), last};
  for (size_t i = 0; i < words_.size(); ++i) {
    const auto word = [at = offsets[i]](const std::string& from) {
      return Load64(reinterpret_cast<const uint8_t*>(from.data()) + at);
    };
    words_[i] = {offsets[i], word(bytes), word(lengths)};
  }
}

}  // namespace penstock
