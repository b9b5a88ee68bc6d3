#include "records/format/entry_head.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "records/format/testing/wire_writer.h"

namespace penstock {
namespace {

// The vector has exactly the size of the entry, so that a sanitizer reports reads beyond it.
std::vector<uint8_t> EntryOf(size_t name_size, size_t values_size) {
  const std::string entry =
      Entry(std::string(name_size, 'n'), BytesKind(std::string(values_size, 'v')));
  return {entry.begin(), entry.end()};
}

bool Matches(const EntryHead& head, const std::vector<uint8_t>& bytes,
             std::span<const uint8_t>& values) {
  return head.Matches(bytes.data(), bytes.data() + bytes.size(), values);
}

TEST(EntryHeadTest, FindsTheValuesOfEntriesShorterThan128Bytes) {
  for (size_t name_size = 0; name_size < 130; ++name_size) {
    const EntryHead head(std::string(name_size, 'n'), FeatureType::kBytes);
    for (size_t values_size = 0; values_size < 130; ++values_size) {
      const std::vector<uint8_t> entry = EntryOf(name_size, values_size);
      std::span<const uint8_t> values;
      const bool is_short = name_size + values_size + 8 < 128;
      ASSERT_EQ(Matches(head, entry, values), is_short) << name_size << " " << values_size;
      if (!is_short) continue;
      EXPECT_EQ(values.size(), values_size);
      EXPECT_EQ(values.data() + values.size(), entry.data() + entry.size());
    }
  }
}

TEST(EntryHeadTest, MatchesNoEntryWhoseHeadHasAnotherBit) {
  for (size_t name_size = 0; name_size < 40; ++name_size) {
    const EntryHead head(std::string(name_size, 'n'), FeatureType::kBytes);
    std::vector<uint8_t> entry = EntryOf(name_size, 5);
    std::span<const uint8_t> values;
    for (size_t bit = 0; bit < 8 * (entry.size() - 5); ++bit) {
      const auto flip = static_cast<uint8_t>(1 << bit % 8);
      entry[bit / 8] ^= flip;
      EXPECT_FALSE(Matches(head, entry, values)) << name_size << " " << bit;
      entry[bit / 8] ^= flip;
    }
  }
}

TEST(EntryHeadTest, MatchesNoEntryThatIsCut) {
  for (size_t name_size = 0; name_size < 40; ++name_size) {
    const EntryHead head(std::string(name_size, 'n'), FeatureType::kBytes);
    std::vector<uint8_t> entry = EntryOf(name_size, 5);
    for (std::span<const uint8_t> values; !entry.empty();) {
      entry.pop_back();
      entry.shrink_to_fit();
      EXPECT_FALSE(Matches(head, entry, values));
    }
  }
}

TEST(EntryHeadTest, MatchesNoOtherType) {
  const EntryHead head("name", FeatureType::kInt64);
  std::span<const uint8_t> values;
  EXPECT_FALSE(Matches(head, EntryOf(4, 1), values));
}

}  // namespace
}  // namespace penstock
