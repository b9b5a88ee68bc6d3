#include "client/loader/ragged_tensor.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/loader/loader.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/dataset/open_dataset.h"
#include "records/decode/spec.h"
#include "records/format/testing/shard_builder.h"
#include "records/format/testing/wire_writer.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Returns a view of a vector, which must outlive it.
template <typename T>
TensorView View(absl::string_view name, Dtype dtype, std::span<const uint32_t> shape,
                const std::vector<T>& values) {
  return {.name = name,
          .dtype = dtype,
          .shape = shape,
          .bytes = {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)}};
}

TEST(CompactRowsTest, TakesWhatIsRealOfEachRow) {
  const std::vector<uint32_t> shape = {3};
  const std::vector<uint8_t> padded = {1, 2, 0, 0, 0, 0, 3, 4, 5};
  const std::vector<int64_t> lengths = {2, 0, 3};
  ASSERT_OK_AND_ASSIGN(const RaggedTensor ragged, CompactRows(View("x", Dtype::kU8, shape, padded),
                                                              View("n", Dtype::kI64, {}, lengths)));
  EXPECT_EQ(ragged.dtype, Dtype::kU8);
  EXPECT_THAT(ragged.item_shape, IsEmpty());
  EXPECT_THAT(ragged.values, ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(ragged.offsets, ElementsAre(0, 2, 2, 5));
}

TEST(CompactRowsTest, ItemsHaveAShape) {
  const std::vector<uint32_t> shape = {2, 1, 2};
  const std::vector<uint16_t> padded = {1, 2, 0, 0, 3, 4, 5, 6};
  const std::vector<int64_t> lengths = {1, 2};
  ASSERT_OK_AND_ASSIGN(
      const RaggedTensor ragged,
      CompactRows(View("x", Dtype::kBf16, shape, padded), View("n", Dtype::kI64, {}, lengths)));
  EXPECT_THAT(ragged.item_shape, ElementsAre(1, 2));
  EXPECT_THAT(ragged.values, ElementsAre(1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0));
  EXPECT_THAT(ragged.offsets, ElementsAre(0, 1, 3));
}

TEST(CompactRowsTest, AListHasARangeForEachValue) {
  const std::vector<uint32_t> shape = {2, 3}, count = {2};
  const std::vector<uint8_t> padded = {'a', 'b', 0, 0, 0, 0, 'a', 0, 0, 'b', 'c', 'd'};
  const std::vector<int64_t> lengths = {2, 0, 1, 3};
  ASSERT_OK_AND_ASSIGN(const RaggedTensor ragged,
                       CompactRows(View("words", Dtype::kU8, shape, padded),
                                   View("words_length", Dtype::kI64, count, lengths)));
  EXPECT_THAT(ragged.values, ElementsAre('a', 'b', 'a', 'b', 'c', 'd'));
  EXPECT_THAT(ragged.offsets, ElementsAre(0, 2, 2, 3, 6));
}

TEST(CompactRowsTest, NoRowsHaveOneOffset) {
  const std::vector<uint32_t> shape = {3};
  ASSERT_OK_AND_ASSIGN(const RaggedTensor ragged,
                       CompactRows(View<uint8_t>("x", Dtype::kU8, shape, {}),
                                   View<int64_t>("n", Dtype::kI64, {}, {})));
  EXPECT_THAT(ragged.values, IsEmpty());
  EXPECT_THAT(ragged.offsets, ElementsAre(0));
}

TEST(CompactRowsTest, ALengthBeyondThePaddingIsRefused) {
  const std::vector<uint32_t> shape = {1};
  const std::vector<uint8_t> padded = {1};
  for (const int64_t length : {int64_t{2}, int64_t{-1}, int64_t{1} << 62}) {
    EXPECT_THAT(CompactRows(View("x", Dtype::kU8, shape, padded),
                            View<int64_t>("n", Dtype::kI64, {}, {length})),
                StatusIs(absl::StatusCode::kInternal,
                         HasSubstr(absl::StrCat("tensor 'n' gives length ", length,
                                                " for tensor 'x', which is padded to 1"))));
  }
}

class BatchRaggedTest : public ::testing::Test {
 protected:
  // Record i has i tokens: i, i + 1, ...
  BatchRaggedTest() {
    ShardBuilder shard;
    for (uint64_t i = 0; i < 4; ++i) {
      std::string tokens;
      for (uint64_t k = 0; k < i; ++k) tokens += Varint(i + k);
      shard.Add(Example(Entry("tokens", Field(3, Field(1, tokens)))));
    }
    folder_.Write("a.tfrecord", shard.text());
  }

  // Reads the first batch. It has all records in file order.
  void Read(const std::string& spec) {
    LoaderOptions options;
    options.manifest =
        std::make_shared<const Manifest>(OpenDataset(folder_.path()).value().manifest);
    options.spec = ParseSpec(spec, "test").value();
    options.plan.shuffle = false;
    options.global_batch_size = 4;
    batch_ = Batch();  // The batch must be destroyed before its loader.
    loader_ = Loader::Open(std::move(options)).value();
    ASSERT_THAT(loader_->Next(batch_), IsOkAndHolds(true));
  }

  TempFolder folder_;
  std::unique_ptr<Loader> loader_;
  Batch batch_;
};

TEST_F(BatchRaggedTest, CompactsWhatTheSpecSays) {
  for (const char* length :
       {"ragged { max_length: 9 }", "pad { length: 5 value: -1 } length_tensor: 'n'"}) {
    Read(absl::StrCat("tensor { name: 'x' number { feature: 'tokens' ", length, " } }"));
    ASSERT_OK_AND_ASSIGN(const RaggedTensor ragged, batch_.Ragged("x"));
    EXPECT_THAT(ragged.offsets, ElementsAre(0, 0, 1, 3, 6));
    std::vector<int64_t> values(ragged.values.size() / sizeof(int64_t));
    std::memcpy(values.data(), ragged.values.data(), ragged.values.size());
    EXPECT_THAT(values, ElementsAre(1, 2, 3, 3, 4, 5));
  }
}

TEST_F(BatchRaggedTest, RefusesOtherTensorsByName) {
  Read(
      "tensor { name: 'x' number { feature: 'tokens' pad { length: 5 } } }"
      "tensor { name: 'y' number { feature: 'tokens' ragged { max_length: 5 } } }");
  EXPECT_THAT(batch_.Ragged("z"),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("no tensor is called 'z'; there are: x, y, y_length")));
  for (const char* name : {"x", "y_length"}) {
    EXPECT_THAT(batch_.Ragged(name),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr(absl::StrCat("tensor '", name, "' has no")),
                               HasSubstr("`ragged`, or `pad` with a length_tensor"))));
  }
  EXPECT_THAT(Batch().Ragged("x"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no tensor is called")));
}

}  // namespace
}  // namespace penstock
