#include <vector>

#include "base/counter_rng.h"
#include "gtest/gtest.h"
#include "records/format/wire.h"

namespace penstock {
namespace {

TEST(VarintTest, OneOfKnownSizeIsWhatOneOfUnknownSizeIs) {
  CounterRng rng(1);
  for (int i = 0; i < 100'000; ++i) {
    std::vector<uint8_t> bytes(kMaxVarintBytes);
    const size_t ends = rng.Below(kMaxVarintBytes + 1);
    for (size_t k = 0; k < bytes.size(); ++k) {
      bytes[k] = static_cast<uint8_t>(rng.Below(128) | (k == ends ? 0 : 0x80));
    }
    uint64_t want = 0;
    const uint8_t* const end = ReadVarint(bytes.data(), bytes.data() + bytes.size(), want);
    for (size_t size = 0; size <= kMaxVarintBytes + 1; ++size) {
      int64_t value = 0;
      const bool read = ReadVarintOfSize(bytes.data(), size, value);
      ASSERT_EQ(read, end != nullptr && size == static_cast<size_t>(end - bytes.data()));
      ASSERT_EQ(static_cast<uint64_t>(read ? value : 0), read ? want : 0);
    }
  }
}

}  // namespace
}  // namespace penstock
