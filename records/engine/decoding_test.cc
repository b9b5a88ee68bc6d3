#include "records/engine/decoding.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/decode/spec.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Compiles a spec of `count` tensors of `bytes` bytes each.
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

// A block lends one piece for each tensor to every part.
TEST(DecodingTest, SessionsShareNoBlocksOfMoreThanEightTensors) {
  ASSERT_OK_AND_ASSIGN(const Decodings eight, CompileTensors(8, 100));
  EXPECT_GT(eight.For(WireDtype::kI8)->block_rows, 0u);
  ASSERT_OK_AND_ASSIGN(const Decodings nine, CompileTensors(9, 100));
  EXPECT_EQ(nine.For(WireDtype::kI8)->block_rows, 0u);
  EXPECT_GT(nine.For(WireDtype::kI8)->rows_per_part, 0u);
}

// Neither can be packed, but that is not the reason for the refusal.
TEST(DecodingTest, RowsThatAreTooLargeAreRefusedAsThat) {
  for (const absl::string_view spec :
       {"tensor { name: 'x' image { feature: 'jpg' resize { height: 1025 width: 1024 } } }",
        "tensor { name: 'id' number { feature: 'id' count: 1 } }"
        "tensor { name: 'x' number { feature: 'jpg' ragged { max_length: 600000 } } }"}) {
    StreamOptions options;
    ASSERT_OK_AND_ASSIGN(options.spec, ParseSpec(spec, "test"));
    EXPECT_THAT(Decodings::Compile(options),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("the largest that fits has 3145728"),
                               HasSubstr("tensor is 'x'"), HasSubstr("of feature 'jpg'"))));
  }
}

// A retry would not make it smaller.
TEST(DecodingTest, OneDtypesRowMayBeTooLarge) {
  StreamOptions options;
  ASSERT_OK_AND_ASSIGN(
      options.spec,
      ParseSpec("tensor { name: 'x' number { feature: 'v' count: 700000 type: FLOAT } }", "test"));
  ASSERT_OK_AND_ASSIGN(const Decodings decodings, Decodings::Compile(options));
  EXPECT_OK(decodings.For(WireDtype::kI8).status());
  EXPECT_THAT(
      decodings.For(WireDtype::kF64).status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("as f64 one row has 5600000")));
}

}  // namespace
}  // namespace penstock
