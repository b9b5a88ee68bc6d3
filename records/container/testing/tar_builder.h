// Builds tar archives in memory for tests, valid ones and ones that no program would write.
#ifndef PENSTOCK_RECORDS_CONTAINER_TESTING_TAR_BUILDER_H_
#define PENSTOCK_RECORDS_CONTAINER_TESTING_TAR_BUILDER_H_

#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

namespace penstock {

constexpr size_t kTestTarBlock = 512;

// Overwrites `text.size()` bytes of `block` from `begin`.
inline void PutField(size_t begin, absl::string_view text, char* block) {
  std::memcpy(block + begin, text.data(), text.size());
}

// Computes the checksum of a block of 512 bytes and stores it in the block.
inline void StoreChecksum(char* block) {
  std::memset(block + 148, ' ', 8);
  unsigned sum = 0;
  for (size_t i = 0; i < kTestTarBlock; ++i) sum += static_cast<uint8_t>(block[i]);
  PutField(148, absl::StrFormat("%06o", sum) + std::string(1, '\0'), block);
}

// A POSIX ustar header.
inline std::string TarHeaderBlock(absl::string_view name, uint64_t size, char type = '0') {
  std::string block(kTestTarBlock, '\0');
  PutField(0, name, block.data());
  PutField(100, "0000644", block.data());
  PutField(124, absl::StrFormat("%011o", size), block.data());
  block[156] = type;
  PutField(257, "ustar", block.data());
  PutField(263, "00", block.data());
  StoreChecksum(block.data());
  return block;
}

// A record of a pax header.
inline std::string PaxText(absl::string_view key, absl::string_view value) {
  const std::string text = absl::StrCat(" ", key, "=", value, "\n");
  size_t size = text.size() + 1;
  while (absl::StrCat(size, text).size() != size) ++size;
  return absl::StrCat(size, text);
}

class TarBuilder {
 public:
  TarBuilder& File(absl::string_view name, absl::string_view content) {
    return Member(TarHeaderBlock(name, content.size()), content);
  }
  TarBuilder& Pax(absl::string_view records, char type = 'x') {
    return Member(TarHeaderBlock("PaxHeaders/x", records.size(), type), records);
  }
  TarBuilder& LongName(absl::string_view name) {
    const std::string text = absl::StrCat(name, absl::string_view("\0", 1));
    return Member(TarHeaderBlock("././@LongLink", text.size(), 'L'), text);
  }
  // Appends a header, the member's bytes, and their padding.
  TarBuilder& Member(absl::string_view header, absl::string_view content = "") {
    absl::StrAppend(&bytes_, header, content);
    bytes_.resize((bytes_.size() + kTestTarBlock - 1) / kTestTarBlock * kTestTarBlock);
    return *this;
  }
  // Appends the two blocks that end an archive.
  TarBuilder& End() {
    bytes_.resize(bytes_.size() + 2 * kTestTarBlock);
    return *this;
  }

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_CONTAINER_TESTING_TAR_BUILDER_H_
