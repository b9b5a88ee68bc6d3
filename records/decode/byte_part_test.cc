// Tests parts of a bytes feature: `bytes` with feature_bytes and dims, and `label` of a byte.
#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "records/decode/byte_transpose.h"
#include "records/decode/program.h"
#include "records/decode/testing/compile_text.h"
#include "records/decode/testing/elements.h"
#include "records/format/feature_finder.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string PartOf(const std::string& fields) {
  return absl::StrCat("tensor { name: 'x' bytes { feature: 'b' ", fields, " } } ");
}
std::string ByteLabel(const std::string& fields) {
  return absl::StrCat("tensor { name: 'y' label { feature: 'b' ", fields, " } } ");
}

// Decodes rows of the one feature of `spec`. Each row is in memory of exactly its size.
std::vector<std::vector<uint8_t>> DecodeParts(const std::string& spec,
                                              const std::vector<std::vector<uint8_t>>& rows,
                                              WireDtype dtype = WireDtype::kI8,
                                              Stores stores = Stores::kCached) {
  const Program program = CompileText(spec, dtype).value();
  std::vector<const uint8_t*> starts;
  for (const std::vector<uint8_t>& row : rows) starts.push_back(row.data());
  std::vector<std::vector<uint8_t>> tensors;
  std::vector<uint8_t*> outputs;
  for (const TensorInfo& tensor : program.tensors()) {
    outputs.push_back(tensors.emplace_back(rows.size() * tensor.row_bytes, 0xcd).data());
  }
  const FeatureColumn columns[] = {starts.data()};
  const DecodeOutcome outcome =
      program.DecodeRows(columns, rows.size(), outputs, {.stores = stores});
  EXPECT_FALSE(outcome.failure.has_value());
  return tensors;
}

std::vector<uint8_t> Ascending(size_t size, uint8_t first = 0) {
  std::vector<uint8_t> bytes(size);
  std::iota(bytes.begin(), bytes.end(), first);
  return bytes;
}

// np.arange(24).reshape(2, 3, 4).transpose(AXES).ravel()
TEST(BytePartTest, TransposesAsNumPy) {
  const auto transposed = [](const std::string& axes) {
    return DecodeParts(PartOf(absl::StrCat("dims: [2, 3, 4] transpose: ", axes)),
                       {Ascending(24)})[0];
  };
  EXPECT_THAT(transposed("[1, 2, 0]"), ElementsAre(0, 12, 1, 13, 2, 14, 3, 15, 4, 16, 5, 17, 6, 18,
                                                   7, 19, 8, 20, 9, 21, 10, 22, 11, 23));
  EXPECT_THAT(transposed("[2, 0, 1]"), ElementsAre(0, 4, 8, 12, 16, 20, 1, 5, 9, 13, 17, 21, 2, 6,
                                                   10, 14, 18, 22, 3, 7, 11, 15, 19, 23));
  EXPECT_THAT(transposed("[2, 1, 0]"), ElementsAre(0, 12, 4, 16, 8, 20, 1, 13, 5, 17, 9, 21, 2, 14,
                                                   6, 18, 10, 22, 3, 15, 7, 19, 11, 23));
  EXPECT_EQ(transposed("[0, 1, 2]"), Ascending(24));
}

// Computes one element at a time, from the definition.
std::vector<uint8_t> TransposedByDefinition(const std::vector<uint8_t>& in,
                                            const std::vector<uint32_t>& dims,
                                            const std::vector<uint32_t>& transpose) {
  std::vector<uint8_t> out;
  std::vector<uint32_t> index(dims.size());  // Position on each stored axis.
  for (size_t n = 0; n < in.size(); ++n) {
    size_t at = 0;
    for (size_t i = 0; i < dims.size(); ++i) at = at * dims[i] + index[i];
    out.push_back(in[at]);
    for (size_t i = dims.size(); i-- > 0;) {
      if (++index[transpose[i]] < dims[transpose[i]]) break;
      index[transpose[i]] = 0;
    }
  }
  return out;
}

TEST(ByteTransposeTest, RandomAxesHoldTheDefinition) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 500; ++round) {
    std::vector<uint32_t> dims(1 + random() % 6);
    for (uint32_t& size : dims) size = 1 + random() % 4;
    std::vector<uint32_t> transpose(dims.size());
    std::iota(transpose.begin(), transpose.end(), 0);
    std::shuffle(transpose.begin(), transpose.end(), random);
    const size_t size =
        std::accumulate(dims.begin(), dims.end(), size_t{1}, std::multiplies<size_t>());
    std::vector<uint8_t> in(size), out(size);
    for (uint8_t& byte : in) byte = static_cast<uint8_t>(random());
    ByteTranspose(dims, transpose).Run(in.data(), out.data());
    ASSERT_EQ(out, TransposedByDefinition(in, dims, transpose))
        << absl::StrJoin(dims, ",") << " by " << absl::StrJoin(transpose, ",");
  }
}

TEST(BytePartTest, TakesTheBytesFromTheFirstOn) {
  for (const size_t size : {1, 3, 4, 8, 9}) {
    const std::string spec = PartOf(absl::StrCat("feature_bytes: 12 first_byte: 2 length: ", size));
    const auto tensors = DecodeParts(spec, {Ascending(12), Ascending(12, 100)});
    std::vector<uint8_t> want = Ascending(size, 2);
    for (const uint8_t byte : Ascending(size, 102)) want.push_back(byte);
    EXPECT_EQ(tensors[0], want);
  }
  EXPECT_EQ(DecodeParts(PartOf("feature_bytes: 12 shape: [2, 3]"), {Ascending(12)})[0],
            Ascending(6));
}

TEST(BytePartTest, AByteIsALabel) {
  const std::vector<uint8_t> row = {7, 0, 255};
  EXPECT_THAT(As<int64_t>(DecodeParts(ByteLabel("feature_bytes: 3"), {row, {9, 1, 1}})[0]),
              ElementsAre(7, 9));
  EXPECT_THAT(As<int64_t>(DecodeParts(ByteLabel("feature_bytes: 3 byte: 2"), {row})[0]),
              ElementsAre(255));
  EXPECT_THAT(As<int64_t>(DecodeParts(ByteLabel("feature_bytes: 3 byte: 1 add: -1"), {row})[0]),
              ElementsAre(-1));
}

constexpr char kCifar10[] = R"(
  records: RAW
  tensor {
    name: "image"
    bytes {
      feature: "record" feature_bytes: 3073 first_byte: 1
      dims: [3, 32, 32] transpose: [1, 2, 0]
    }
  }
  tensor { name: "label" label { feature: "record" feature_bytes: 3073 byte: 0 } })";

TEST(BytePartTest, ReadsCifar10WhateverTheDtype) {
  std::vector<std::vector<uint8_t>> rows;
  std::mt19937_64 random(5);
  for (int i = 0; i < 70; ++i) {
    std::vector<uint8_t> row(3073);
    for (uint8_t& byte : row) byte = static_cast<uint8_t>(random());
    rows.push_back(row);
  }
  for (const WireDtype dtype : kExpanded) {
    const Program program = CompileText(kCifar10, dtype).value();
    ASSERT_EQ(program.features().size(), 1u);
    EXPECT_FALSE(program.fallible());
    EXPECT_THAT(program.tensors()[0].shape, ElementsAre(32, 32, 3));
    EXPECT_EQ(program.tensors()[0].dtype, Dtype::kU8);
    EXPECT_THAT(program.tensors()[1].shape, ElementsAre());
    EXPECT_EQ(program.tensors()[1].dtype, Dtype::kI64);
    for (const Stores stores : {Stores::kCached, Stores::kStreaming}) {
      const auto tensors = DecodeParts(kCifar10, rows, dtype, stores);
      for (size_t i = 0; i < rows.size(); ++i) {
        EXPECT_EQ(As<int64_t>(tensors[1])[i], rows[i][0]);
        for (size_t pixel = 0; pixel < 1024; ++pixel) {
          for (size_t plane = 0; plane < 3; ++plane) {
            ASSERT_EQ(tensors[0][i * 3072 + 3 * pixel + plane], rows[i][1 + 1024 * plane + pixel]);
          }
        }
      }
    }
  }
}

TEST(BytePartTest, PartsOfOneFeatureArePackedOnce) {
  const Program program = CompileText(kCifar10, WireDtype::kPacked).value();
  ASSERT_EQ(program.tensors().size(), 1u);
  EXPECT_EQ(program.tensors()[0].name, "record");
  EXPECT_THAT(program.tensors()[0].shape, ElementsAre(3073));
}

TEST(BytePartTest, ARecordOfAnotherLengthIsAnError) {
  const Program program = CompileText(kCifar10).value();
  FeatureFinder finder =
      *FeatureFinder::Create({program.features().begin(), program.features().end()});
  FoundFeatures found = finder.MakeFound();
  EXPECT_OK(finder.Find(std::vector<uint8_t>(3073), found));
  for (const size_t size : {0, 1, 3072, 3074}) {  // The last size is that of CIFAR-100.
    EXPECT_THAT(finder.Find(std::vector<uint8_t>(size), found),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr(absl::StrCat("feature 'record' has ", size,
                                                " bytes, but the spec expects 3073"))));
  }
}

TEST(BytePartTest, RefusesPartsOutsideOfTheFeature) {
  ExpectInvalid(PartOf("feature_bytes: 3073 first_byte: 2 dims: [3, 32, 32]"),
                "bytes 2 to 3073 are outside of feature 'b' of 3073 bytes");
  ExpectInvalid(PartOf("feature_bytes: 4 first_byte: 4294967295 length: 1"),
                "bytes 4294967295 to 4294967295 are outside of feature 'b' of 4 bytes");
  ExpectInvalid(ByteLabel("feature_bytes: 2 byte: 2"),
                "byte 2 is outside of feature 'b' of 2 bytes");
}

TEST(BytePartTest, RefusesFieldsThatContradictOneAnother) {
  ExpectInvalid(PartOf("first_byte: 1 length: 2"), "first_byte needs feature_bytes");
  ExpectInvalid(PartOf("transpose: [1, 0] shape: [2, 2]"), "transpose needs dims");
  ExpectInvalid(PartOf("dims: [2, 3] transpose: [0, 0]"), "transpose [0, 0] is no permutation");
  ExpectInvalid(PartOf("dims: [2, 3] shape: 7"), "shape [7] holds 7 elements, dims [2, 3] 6");
  ExpectInvalid(PartOf("dims: [2, 3] length: 7"), "dims [2, 3] holds 6 elements, length is 7");
  ExpectInvalid(PartOf("dims: [2, 0]"), "dims has an axis of size 0");
  ExpectInvalid(PartOf("feature_bytes: 4"), "give length or shape");
  ExpectOverLimit(PartOf("dims: [4294967295, 4294967295]"), "holds more than 67108864 bytes");
  for (const char* varying : {"optional: true", "pad { length: 2 }", "ragged { max_length: 2 }",
                              "list { count: 1 } pad { length: 2 }"}) {
    ExpectInvalid(PartOf(absl::StrCat("dims: 2 ", varying)), "leave out optional, pad");
  }
  ExpectInvalid(ByteLabel("byte: 1"), "byte needs feature_bytes");
  ExpectInvalid(ByteLabel("feature_bytes: 1 type: FLOAT"), "a byte is an INT64 label");
  ExpectInvalid(ByteLabel("feature_bytes: 1 optional: true"), "leave out optional");
  const int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_OK(CompileText(ByteLabel(absl::StrCat("feature_bytes: 1 add: ", most - 255))));
  ExpectInvalid(ByteLabel(absl::StrCat("feature_bytes: 1 add: ", most - 254)),
                "does not fit into int64");
  ExpectInvalid(PartOf("feature_bytes: 4 length: 2") + ByteLabel("feature_bytes: 5"),
                "feature 'b' is bytes[5] here and bytes[4] in an earlier tensor");
}

}  // namespace
}  // namespace penstock
