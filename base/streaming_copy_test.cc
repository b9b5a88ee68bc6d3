#include "base/streaming_copy.h"

#include <numeric>
#include <vector>

#include "gtest/gtest.h"

namespace penstock {
namespace {

TEST(StreamingCopyTest, CopiesEverySizeAtEveryAlignmentAndNothingBeside) {
  std::vector<uint8_t> from(20'000);
  std::iota(from.begin(), from.end(), 0);
  for (size_t size : {0, 1, 16, 63, 64, 65, 128, 4095, 4096, 4097, 8191, 10'000}) {
    for (size_t shift : {0, 1, 31, 32, 63}) {
      for (size_t from_shift : {0, 7}) {
        std::vector<uint8_t> to(size + 200, 0xee);
        StreamingCopy({from.data() + from_shift, size}, {to.data() + 64 + shift, size});
        StreamingFence();
        for (size_t i = 0; i < to.size(); ++i) {
          const bool inside = i >= 64 + shift && i < 64 + shift + size;
          ASSERT_EQ(to[i], inside ? from[i - 64 - shift + from_shift] : 0xee)
              << size << " " << shift << " " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace penstock
