// Compares the bytes before the values of a feature with those of a record, all at once.
#ifndef PENSTOCK_RECORDS_FORMAT_ENTRY_HEAD_H_
#define PENSTOCK_RECORDS_FORMAT_ENTRY_HEAD_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "absl/strings/string_view.h"
#include "base/load.h"
#include "records/format/example.h"

namespace penstock {

// The head of an entry in the map of features, as protobuf's serializers write it. The entry must
// be shorter than 128 bytes, so that each length is one byte:
//   0a ENTRY 0a NAME name.. 12 FEATURE kind LIST 0a VALUES values..
// Each length except NAME counts the values and the bytes before them in its message. So the head
// of an entry is the head of the same name and type without values, with the number of bytes of the
// values added to the four other lengths.
class EntryHead {
 public:
  EntryHead(absl::string_view name, FeatureType type);

  absl::string_view name() const { return name_; }
  FeatureType type() const { return type_; }

  // Returns whether [p, end) begins with such an entry. If so, `values` are its values.
  bool Matches(const uint8_t* p, const uint8_t* end, std::span<const uint8_t>& values) const {
    const auto left = static_cast<size_t>(end - p);
    if (left < size_) return false;
    const size_t values_size = p[1] - (size_ - kBeforeEntry);
    if (values_size > most_values_ || values_size > left - size_) return false;
    uint64_t different = 0;
    for (const Word& word : words_) {
      different |= Load64(p + word.offset) ^ (word.bytes + values_size * word.lengths);
    }
    if (different != 0 || !RestOfNameIsAt(p + 4)) return false;
    values = {p + size_, values_size};
    return true;
  }

 private:
  static constexpr size_t kAroundName = 10;
  static constexpr size_t kBeforeEntry = 2;  // Bytes that ENTRY does not count.
  static constexpr size_t kInWords = 14;     // Bytes of a name in words_: the first 12, the last 2.

  // Eight bytes of the head.
  struct Word {
    size_t offset;
    uint64_t bytes;    // The bytes of a head without values.
    uint64_t lengths;  // 1 in each length byte that counts the values.
  };

  bool RestOfNameIsAt(const uint8_t* p) const {
    return name_.size() <= kInWords ||
           std::memcmp(p + kInWords - 2, name_.data() + kInWords - 2, name_.size() - kInWords) == 0;
  }

  std::string name_;
  FeatureType type_;
  size_t size_ = ~size_t{0};  // Bytes of the head; initially so large that nothing matches.
  size_t most_values_ = 0;
  std::array<Word, 3> words_ = {};  // They overlap if the head is shorter than three words.
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_FORMAT_ENTRY_HEAD_H_
