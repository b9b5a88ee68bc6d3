#include "records/engine/decoding.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

// Of so many tensors of `bytes` bytes each.
absl::StatusOr<Decodings> CompileTensors(int count, uint32_t bytes) {
  StreamOptions options;
  for (int i = 0; i < count; ++i) {
    v1::TensorSpec& tensor = *options.spec.add_tensor();
    tensor.set_name(absl::StrCat("t", i));
    tensor.mutable_bytes()->set_feature("f");
    tensor.mutable_bytes()->set_length(bytes);
  }
  return Decodings::Compile(options);
}

// A block lends a piece of each tensor to every part.
TEST(DecodingTest, SessionsShareNoBlocksOfMoreThanEightTensors) {
  ASSERT_OK_AND_ASSIGN(const Decodings eight, CompileTensors(8, 100));
  EXPECT_GT(eight.For(WireDtype::kI8)->block_rows, 0u);
  ASSERT_OK_AND_ASSIGN(const Decodings nine, CompileTensors(9, 100));
  EXPECT_EQ(nine.For(WireDtype::kI8)->block_rows, 0u);
  EXPECT_GT(nine.For(WireDtype::kI8)->rows_per_part, 0u);
}

}  // namespace
}  // namespace penstock
