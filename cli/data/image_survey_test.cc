#include "cli/data/image_survey.h"

#include <string>

#include "base/bytes_of.h"
#include "base/drawing/png.h"
#include "cli/sheet/testing/test_images.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/format/testing/wire_writer.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ImageSurveyTest : public ::testing::Test {
 protected:
  void Add(const std::string& entries, RecordFormat format = RecordFormat::kExample) {
    survey_.Add(format, BytesOf(Example(entries)));
  }
  void AddImage(const std::string& bytes) { Add(Entry("image/encoded", BytesKind(bytes))); }

  ImageSurvey survey_;
};

TEST_F(ImageSurveyTest, CountsFormatsSizesAndOrientations) {
  AddImage(TestPng(30, 20));
  AddImage(TestPng(5, 40));
  AddImage(TestJpeg());
  AddImage(TurnedJpeg(6));
  AddImage(TurnedJpeg(1));
  ASSERT_THAT(survey_.Facts(), SizeIs(1));
  const ImageFacts facts = survey_.Facts()[0];
  EXPECT_EQ(facts.jpegs, 3u);
  EXPECT_EQ(facts.pngs, 2u);
  EXPECT_EQ(facts.turned, 1u);
  EXPECT_EQ(facts.width.min, 5u);
  EXPECT_EQ(facts.height.max, 40u);
  EXPECT_THAT(Describe(facts), AllOf(HasSubstr("image/encoded: 3 JPEG and 2 PNG, 5-"),
                                     HasSubstr("; 1 with an EXIF orientation other than 1")));
}

TEST_F(ImageSurveyTest, AFeatureOfOtherBytesIsNoImage) {
  Add(Entry("name", BytesKind("a cat")) + Entry("image", BytesKind(TestPng(2, 3))));
  Add(Entry("name", BytesKind("another")) + Entry("n", Int64Kind(3)));
  ASSERT_THAT(survey_.Facts(), SizeIs(1));
  EXPECT_EQ(Describe(survey_.Facts()[0]),
            "image: 1 PNG, 2 x 3 pixels; none with an EXIF orientation other than 1");
}

TEST_F(ImageSurveyTest, SaysWhatOtherValuesAre) {
  AddImage(TestPng(2, 3));
  AddImage("GIF89a and more");
  EXPECT_THAT(Describe(survey_.Facts()[0]),
              AllOf(HasSubstr("1 value is not an image"), HasSubstr("GIF")));
  AddImage("");
  AddImage("");
  EXPECT_THAT(survey_.Facts(), IsEmpty());  // Fewer than half are images.
}

TEST_F(ImageSurveyTest, ARawRecordIsAnImageItself) {
  survey_.Add(RecordFormat::kRaw, BytesOf(TestPng(2, 3)));
  EXPECT_THAT(Describe(survey_.Facts().at(0)), HasSubstr("record: 1 PNG"));
}

TEST_F(ImageSurveyTest, BrokenRecordsAndImagesAreSafe) {
  const std::string whole = Example(Entry("image/encoded", BytesKind(TurnedJpeg(6))));
  for (size_t size = 0; size < whole.size(); ++size) {
    survey_.Add(RecordFormat::kExample, BytesOf(whole.data(), size));
  }
  AddImage(TestJpeg().substr(0, 40));
  EXPECT_THAT(survey_.Facts(), IsEmpty());
}

}  // namespace
}  // namespace penstock
