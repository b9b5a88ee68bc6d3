#include "trainer/input/image_reader.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/format/record_id.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class ImageReaderTest : public testing::Test {
 protected:
  static constexpr size_t kSide = 4, kBytes = kSide * kSide * 3;

  InputBatch Batch() {
    return {.rows = 3,
            .first_position = 40,
            .tensors = {{"label",
                         Dtype::kI64,
                         {},
                         8,
                         {reinterpret_cast<const uint8_t*>(labels_.data()), 3 * 8}},
                        {"image", Dtype::kU8, {}, kBytes, pixels_}},
            .record_ids = ids_};
  }

  static constexpr uint64_t kReplacing = kReplacedRecord | 7;
  ImageReader reader_{kSide, {.classes = 10, .spec = "images-train:4"}};
  std::vector<uint8_t> pixels_ = std::vector<uint8_t>(3 * kBytes, 7);
  std::vector<int64_t> labels_ = {9, 0, 4};
  std::vector<uint64_t> ids_ = {100, 200, 300};
};

TEST_F(ImageReaderTest, GivesThePixelsAndTheNumbersOfTheirClasses) {
  ASSERT_OK_AND_ASSIGN(const BatchRows rows, reader_.Read(Batch()));
  EXPECT_EQ(rows.format, ImagesOf(kSide));
  EXPECT_EQ(rows.rows, 3);
  EXPECT_EQ(rows.input, pixels_.data());
  EXPECT_THAT(std::vector<float>(rows.targets, rows.targets + 3), ElementsAre(9, 0, 4));
}

TEST_F(ImageReaderTest, NamesTheRecordWhoseLabelIsNoClass) {
  for (const int64_t label : {int64_t{10}, int64_t{-1}}) {
    labels_[2] = label;
    EXPECT_THAT(reader_.Read(Batch()),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("row 2 of the batch from position 40, record 300"),
                               HasSubstr("10 classes (from --classes)"))));
  }
}

TEST_F(ImageReaderTest, LabelsThatCountFrom1AreToldSo) {
  labels_[1] = 10;
  EXPECT_THAT(reader_.Read(Batch()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("record 200: its label is 10, but 10 classes"),
                             HasSubstr("start at 1, give --spec images-train:4,label-1"))));
}

TEST_F(ImageReaderTest, NamesThePlaceOfARecordAndTheOneThatReplacesAnother) {
  ImageReader reader(kSide, {.classes = 9, .locate = [](uint64_t id) {
                               return id == kReplacing ? "record 3 of a.tfrecord" : "?";
                             }});
  ids_[0] = kReplacing;
  EXPECT_THAT(reader.Read(Batch()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr(", record 7 (record 3 of a.tfrecord): its label is 9")));
}

TEST_F(ImageReaderTest, RefusesImagesOfAnotherSize) {
  ImageReader larger(kSide + 1, {.classes = 10});
  EXPECT_THAT(larger.Read(Batch()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("image u8 of 48 bytes a row"), HasSubstr("5 x 5 x 3"))));
}

TEST_F(ImageReaderTest, RefusesImagesWithoutLabels) {
  InputBatch batch = Batch();
  batch.tensors.erase(batch.tensors.begin());
  EXPECT_THAT(reader_.Read(batch),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("label (i64)")));
}

}  // namespace
}  // namespace penstock
