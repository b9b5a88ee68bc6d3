#include "trainer/input/board_reader.h"

#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using testing::HasSubstr;

class BoardReaderTest : public testing::Test {
 protected:
  BoardReader reader_;
  std::vector<uint8_t> records_ = std::vector<uint8_t>(9 * 194);
  std::vector<int64_t> scores_ = {400, -400, 0, 3, -3, 100000, 11, -68, 36};
  InputBatch Packed() {
    return {
        .rows = 9,
        .tensors = {
            {"d", Dtype::kU8, {}, 194, records_},
            {"s", Dtype::kI64, {}, 8, {reinterpret_cast<const uint8_t*>(scores_.data()), 9 * 8}}}};
  }
};

TEST_F(BoardReaderTest, ScoresPackedRecordsByTheFormula) {
  for (size_t row : {3, 4, 6}) records_[row * 194 + 193] = 0x20;  // Sets bit 1546, mate.
  ASSERT_OK_AND_ASSIGN(const BatchRows rows, reader_.Read(Packed()));
  const double expected[] = {0.8 * std::tanh(1.0),
                             -0.8 * std::tanh(1.0),
                             0,
                             0.8 + 0.02 * 8,
                             -0.8 - 0.02 * 8,
                             0.8,
                             0.8,
                             0.8 * std::tanh(-68 / 400.0),
                             0.8 * std::tanh(36 / 400.0)};
  for (size_t i = 0; i < 9; ++i) EXPECT_NEAR(rows.targets[i], expected[i], 6e-8) << i;
}

TEST_F(BoardReaderTest, RefusesOtherTensorsByName) {
  InputBatch batch = Packed();
  batch.tensors[0].row_bytes = 193;
  batch.tensors[0].bytes = batch.tensors[0].bytes.first(9 * 193);
  EXPECT_THAT(reader_.Read(batch),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("d u8 of 193 bytes a row")));
}

TEST_F(BoardReaderTest, RefusesBytesThatAreNotTheRows) {
  InputBatch batch = Packed();
  batch.tensors[1].bytes = batch.tensors[1].bytes.first(71);
  EXPECT_THAT(reader_.Read(batch), StatusIs(absl::StatusCode::kInternal, HasSubstr("71 bytes")));
}

}  // namespace
}  // namespace penstock
