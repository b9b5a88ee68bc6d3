// Tests the cells of records on a sheet: decoded, and as they are stored.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "base/bytes_of.h"
#include "base/counter_rng.h"
#include "cli/sheet/decoded_cells.h"
#include "cli/sheet/original_cells.h"
#include "cli/sheet/sheet_label.h"
#include "cli/sheet/testing/test_images.h"
#include "client/loader/loader.h"
#include "client/plan/epoch_order.h"
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
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kPixels[] = R"(
  tensor { name: 'image' bytes { feature: 'pixels' shape: [2, 1, 3] } }
  tensor { name: 'mask' bytes { feature: 'mask' shape: [1, 3, 1] } }
  tensor { name: 'text' bytes { feature: 'mask' length: 3 } }
  tensor { name: 'y' label { feature: 'class' } })";

std::string PixelRecord(const std::string& pixels, int64_t label) {
  return Example(Entry("pixels", BytesKind(pixels)) + Entry("mask", BytesKind("xyz")) +
                 Entry("class", Int64Kind(label)));
}

absl::StatusOr<DecodedCells> CellsOf(const std::string& spec,
                                     std::vector<std::string> class_names = {},
                                     uint64_t epoch = 0) {
  return DecodedCells::Create(ParseSpec(spec, "test").value(), AugmentationKeyOf(0, epoch),
                              std::move(class_names));
}

TEST(DecodedCellsTest, ShowsAllPicturesAndTheLabel) {
  ASSERT_OK_AND_ASSIGN(DecodedCells cells, CellsOf(kPixels, {"ant", "bee"}));
  const SheetCell cell = cells.Make(7, BytesOf(PixelRecord("abcdef", 1)));
  EXPECT_EQ(cell.record, 7u);
  EXPECT_EQ(cell.label, "bee");
  EXPECT_THAT(cell.problem, IsEmpty());
  ASSERT_THAT(cell.pictures, SizeIs(2));
  EXPECT_EQ(cell.pictures[0].name, "image");
  EXPECT_EQ(cell.pictures[0].picture.width, 1u);
  EXPECT_EQ(cell.pictures[0].picture.height, 2u);
  EXPECT_EQ(cell.pictures[0].picture.pixels, (std::vector<uint8_t>{'a', 'b', 'c', 'd', 'e', 'f'}));
  EXPECT_EQ(cell.pictures[1].picture.channels, 1u);
  EXPECT_EQ(cell.pictures[1].picture.width, 3u);
}

TEST(DecodedCellsTest, ARecordThatCannotBeDecodedIsShownWithItsReason) {
  ASSERT_OK_AND_ASSIGN(DecodedCells cells, CellsOf(kPixels));
  EXPECT_THAT(cells.Make(0, BytesOf(PixelRecord("abc", 1))).problem,
              HasSubstr("feature 'pixels' has 3 bytes"));
  EXPECT_THAT(cells.Make(1, BytesOf("\x0a\x7f no Example")).problem, HasSubstr("Example"));
  const SheetCell good = cells.Make(2, BytesOf(PixelRecord("abcdef", 5)));
  EXPECT_THAT(good.problem, IsEmpty());
  EXPECT_EQ(good.label, "y 5");
}

TEST(DecodedCellsTest, ASpecWithoutPicturesIsRefusedWithWhatItHas) {
  EXPECT_THAT(CellsOf("tensor { name: 'y' label { feature: 'class' } }"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("no picture tensor, u8 [height, width, 1 or 3]"),
                             HasSubstr("y (i64)"))));
}

// The image has columns of many different levels, so that different crops are different pictures.
std::vector<uint8_t> CropOf(uint64_t epoch, uint64_t record) {
  constexpr char kCrops[] = R"(
    tensor { name: 'x' image { feature: 'image' channels: 1
             random_resized_crop { height: 8 width: 8 } } })";
  DecodedCells cells = CellsOf(kCrops, {}, epoch).value();
  const std::string payload = Example(Entry("image", BytesKind(TestPng(200, 100))));
  return cells.Make(record, BytesOf(payload)).pictures.at(0).picture.pixels;
}

TEST(DecodedCellsTest, ShowsThePixelsThatATrainerGets) {
  const v1::DecodeSpec spec = ParseSpec(
                                  "tensor { name: 'x' image { feature: 'image' flip: 0.5 "
                                  "random_resized_crop { height: 8 width: 8 } } }",
                                  "test")
                                  .value();
  TempFolder folder;
  std::vector<std::string> payloads;
  for (const char* name : {"a.tfrecord", "b.tfrecord"}) {
    ShardBuilder shard;
    for (uint32_t i = 0; i < 10; ++i) {
      payloads.push_back(Example(Entry("image", BytesKind(TestPng(200 + i, 100)))));
      shard.Add(payloads.back());
    }
    folder.Write(name, shard.text());
  }
  LoaderOptions options;
  options.manifest = std::make_shared<const Manifest>(OpenDataset(folder.path()).value().manifest);
  options.spec = spec;
  options.plan.seed = 5;
  options.epochs = 2;
  options.global_batch_size = 20;
  options.record_ids = true;
  const auto loader = Loader::Open(std::move(options)).value();
  Batch batch;
  for (uint64_t epoch = 0; epoch < 2; ++epoch) {
    ASSERT_THAT(loader->Next(batch), IsOkAndHolds(true));
    ASSERT_OK_AND_ASSIGN(DecodedCells cells,
                         DecodedCells::Create(spec, AugmentationKeyOf(5, epoch), {}));
    const TensorView& x = batch.tensors()[0];
    for (size_t row = 0; row < batch.rows(); ++row) {
      const uint64_t record = batch.record_ids()[row];
      const SheetCell cell = cells.Make(record, BytesOf(payloads[record]));
      EXPECT_THAT(x.bytes.subspan(row * x.row_bytes, x.row_bytes),
                  ElementsAreArray(cell.pictures.at(0).picture.pixels));
    }
  }
}

TEST(DecodedCellsTest, ShowsTheAugmentationOfTheEpochAndTheRecord) {
  EXPECT_EQ(CropOf(1, 7), CropOf(1, 7));
  EXPECT_NE(CropOf(1, 7), CropOf(2, 7));
  EXPECT_NE(CropOf(1, 7), CropOf(1, 8));
}

OriginalCells Originals() {
  return OriginalCells({.image = "image/encoded", .label = "image/class/label"}, {"zero", "one"},
                       224);
}

std::string ImageRecord(const std::string& bytes, int64_t label) {
  return Example(Entry("image/encoded", BytesKind(bytes)) +
                 Entry("image/class/label", Int64Kind(label)));
}

TEST(OriginalCellsTest, ShowsTheImageItsSizeAndItsLabel) {
  OriginalCells cells = Originals();
  const SheetCell png = cells.Make(3, BytesOf(ImageRecord(TestPng(30, 20), 1)));
  EXPECT_EQ(png.label, "one");
  EXPECT_EQ(png.note, "30x20 PNG");
  ASSERT_THAT(png.pictures, SizeIs(1));
  EXPECT_EQ(png.pictures[0].picture.width, 30u);
  EXPECT_EQ(png.pictures[0].file, TestPng(30, 20));
  EXPECT_EQ(png.pictures[0].media_type, "image/png");
  const SheetCell jpeg = cells.Make(4, BytesOf(ImageRecord(TurnedJpeg(6), 2)));
  EXPECT_EQ(jpeg.label, "label 2");
  EXPECT_THAT(jpeg.note, HasSubstr(" JPEG, EXIF 6"));
  EXPECT_EQ(jpeg.pictures.at(0).media_type, "image/jpeg");
}

TEST(OriginalCellsTest, AnImageThatCannotBeDecodedIsShownWithItsReason) {
  OriginalCells cells = Originals();
  const std::string cut = TestJpeg().substr(0, TestJpeg().size() - 20);
  const SheetCell cell = cells.Make(0, BytesOf(ImageRecord(cut, 0)));
  EXPECT_THAT(cell.problem, HasSubstr("cut"));
  EXPECT_THAT(cell.note, HasSubstr("JPEG"));
  EXPECT_THAT(cell.pictures, IsEmpty());
  EXPECT_THAT(cells.Make(1, BytesOf(ImageRecord("GIF89a", 0))).problem, HasSubstr("GIF"));
  EXPECT_THAT(cells.Make(2, BytesOf(Example(""))).problem, HasSubstr("no feature 'image/encoded'"));
}

TEST(OriginalCellsTest, LargeFilesAreShrunkAndNotInlined) {
  Picture noise{300, 400, 3, {}};
  for (uint32_t i = 0; i < 300 * 400 * 3; ++i) {
    noise.pixels.push_back(static_cast<uint8_t>(CounterRng(1, i).Next()));
  }
  const std::string png = EncodePng(noise).value();
  ASSERT_GT(png.size(), size_t{64} << 10);
  const SheetCell cell = Originals().Make(0, BytesOf(ImageRecord(png, 0)));
  EXPECT_THAT(cell.pictures.at(0).file, IsEmpty());
  EXPECT_EQ(cell.pictures[0].picture.height, 224u);
  EXPECT_EQ(cell.pictures[0].picture.width, 168u);
}

TEST(OriginalFeaturesTest, ChoosesImagesAndLabelsByTheirUsualNames) {
  const FeatureInfo label = {"label", "int64", false, 9, {1, 1}};
  const FeatureInfo usual = {"image/class/label", "int64", false, 9, {1, 1}};
  const FeatureInfo several = {"label", "int64", false, 9, {1, 2}};
  const std::vector<ImageFacts> images = {{.feature = "depth"}, {.feature = "image/encoded"}};
  const auto choose = [&](std::vector<FeatureInfo> features, std::span<const ImageFacts> facts) {
    const FeatureSummary summary = {9, std::move(features)};
    const auto chosen = OriginalFeatures::Choose(RecordFormat::kExample, summary, facts);
    return chosen.ok() ? absl::StrCat(chosen->image, " ", chosen->label)
                       : std::string(chosen.status().message());
  };
  EXPECT_EQ(choose({label, usual}, images), "image/encoded image/class/label");
  EXPECT_EQ(choose({label}, std::span(images).first(1)), "depth label");
  EXPECT_EQ(choose({several}, images), "image/encoded ");
  EXPECT_THAT(choose({label}, {}), AllOf(HasSubstr("no feature holds JPEG or PNG images"),
                                         HasSubstr("--spec"), HasSubstr("label (int64)")));
}

TEST(OriginalCellsTest, ShowsRealPhotographs) {
  const char* root = std::getenv("PENSTOCK_TEST_DATA");
  if (root == nullptr) GTEST_SKIP() << "PENSTOCK_TEST_DATA is not set";
  const std::filesystem::path folder = std::filesystem::path(root) / "data/images/0";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  OriginalCells cells = Originals();
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    const SheetCell cell = cells.Make(0, BytesOf(ImageRecord(bytes, 0)));
    EXPECT_THAT(cell.problem, IsEmpty()) << entry.path();
    EXPECT_THAT(cell.pictures, SizeIs(1));
  }
}

TEST(LabelTextTest, IsTheClasssNameIfThereIsOne) {
  const std::vector<std::string> names = {"ant", "bee"};
  EXPECT_EQ(LabelText("y", 0, names), "ant");
  EXPECT_EQ(LabelText("y", 2, names), "y 2");
  EXPECT_EQ(LabelText("y", -1, names), "y -1");
  EXPECT_EQ(LabelText("y", 0, {}), "y 0");
}

}  // namespace
}  // namespace penstock
