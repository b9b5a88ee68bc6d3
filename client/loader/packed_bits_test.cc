#include "client/loader/packed_bits.h"

#include <vector>

#include "client/loader/loader.h"
#include "client/loader/testing/chess_dataset.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

class PackedBitsTest : public ::testing::Test {
 protected:
  // Opens a loader of the same rows in another dtype.
  std::unique_ptr<Loader> Open(WireDtype dtype) {
    options_.dtype = dtype;
    return Loader::Open(options_).value();
  }

  template <typename T>
  void ExpectSameAs(WireDtype dtype) {
    const auto packed_loader = Open(WireDtype::kPacked), loader = Open(dtype);
    Batch packed, expanded;
    ASSERT_TRUE(packed_loader->Next(packed).value() && loader->Next(expanded).value());
    for (const char* name : {"planes", "flags"}) {
      ASSERT_OK_AND_ASSIGN(const PackedBits bits, PackedBits::Create(options_.spec, name));
      const std::span<const T> expected = expanded.Values<T>(name).value();
      const TensorView& source = *packed.tensor(bits.feature());
      std::vector<T> out(expected.size()), by_element(expected.size());
      ASSERT_OK(bits.Expand(source, std::span(out)));
      EXPECT_THAT(out, ElementsAreArray(expected)) << name;
      for (size_t thread = 0; thread < 7; ++thread) {
        ExpandPackedBits(source.bytes.data(), bits.packed_bytes(), bits.elements().data(),
                         bits.elements().size(), packed.rows(), thread, 7, by_element.data());
      }
      // The bits of bf16 are no numbers.
      if (dtype != WireDtype::kBf16) {
        EXPECT_THAT(by_element, ElementsAreArray(expected)) << name;
      }
    }
  }

  ChessDataset data_;
  LoaderOptions options_ = data_.Options();
};

TEST_F(PackedBitsTest, GivesWhatServersGive) {
  options_.global_batch_size = 65;  // One row more than is expanded at a time.
  ExpectSameAs<int8_t>(WireDtype::kI8);
  ExpectSameAs<float>(WireDtype::kF32);
  ExpectSameAs<double>(WireDtype::kF64);
  ExpectSameAs<uint16_t>(WireDtype::kBf16);
}

TEST_F(PackedBitsTest, SaysWhereTheBitsAre) {
  const DecodeSpec spec =
      DecodeSpec::Parse(
          "tensor { name: 't' bits { feature: 'f' feature_bytes: 2 first_bit: 3 dims: 2 dims: 3 "
          "transpose: 1 transpose: 0 sign_axis: 0 negative: 1 order: LSB_FIRST } }")
          .value();
  ASSERT_OK_AND_ASSIGN(const PackedBits bits, PackedBits::Create(spec, "t"));
  EXPECT_EQ(bits.feature(), "f");
  EXPECT_EQ(bits.packed_bytes(), 2u);
  EXPECT_THAT(bits.shape(), ElementsAre(3, 2));
  std::vector<std::pair<uint32_t, int32_t>> elements;
  for (const PackedBit& element : bits.elements()) elements.push_back({element.bit, element.value});
  // Stored bits 3, 4, 5 and 6, 7, 8, counted from the least significant bit of each byte.
  EXPECT_THAT(elements, ElementsAre(std::pair(4, 1), std::pair(1, -1), std::pair(3, 1),
                                    std::pair(0, -1), std::pair(2, 1), std::pair(15, -1)));
}

TEST_F(PackedBitsTest, RefusesWhatItCannotExpand) {
  EXPECT_THAT(PackedBits::Create(options_.spec, "plane").status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no tensor 'plane'")));
  EXPECT_THAT(PackedBits::Create(options_.spec, "score").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no operation `bits`")));
  ASSERT_OK_AND_ASSIGN(const PackedBits bits, PackedBits::Create(options_.spec, "flags"));
  const auto loader = Open(WireDtype::kI8), packed_loader = Open(WireDtype::kPacked);
  Batch batch, packed;
  ASSERT_TRUE(loader->Next(batch).value() && packed_loader->Next(packed).value());
  std::vector<float> out(batch.rows() * bits.elements().size());
  EXPECT_THAT(bits.Expand(*batch.tensor("flags"), std::span(out)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("'flags'"), HasSubstr("WireDtype::kPacked"))));
  out.pop_back();
  EXPECT_THAT(bits.Expand(*packed.tensor(bits.feature()), std::span(out)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("room for 639")));
}

}  // namespace
}  // namespace penstock
