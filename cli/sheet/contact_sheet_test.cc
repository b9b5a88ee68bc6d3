// Tests `penstock inspect --contact-sheet` as a user calls it.
#include <filesystem>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/bytes_of.h"
#include "cli/sheet/testing/test_images.h"
#include "cli/testing/command_fixture.h"
#include "gmock/gmock.h"
#include "records/format/testing/shard_builder.h"
#include "records/format/testing/wire_writer.h"
#include "records/image/image_info.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ContactSheetTest : public CommandFixture {
 protected:
  ContactSheetTest() : CommandFixture({AddInspectCommand}) {
    ShardBuilder shard;
    for (uint32_t i = 0; i < 50; ++i) {
      shard.Add(Example(Entry("image/encoded", BytesKind(i == 7 ? "GIF89a" : TestPng(8 + i, 16))) +
                        Entry("label", Int64Kind(i / 10)) + Entry("gray", BytesKind("abcdef"))));
    }
    shard_ = data_.Write("a.tfrecord", shard.text());
  }

  // Runs `penstock inspect INPUT --contact-sheet NAME MORE...`.
  int Sheet(const std::string& input, const std::string& name,
            const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"inspect", input, "--contact-sheet", out_folder_.File(name)};
    words.insert(words.end(), more.begin(), more.end());
    return Run(words);
  }

  TempFolder data_;
  TempFolder out_folder_;
  std::string shard_;
};

TEST_F(ContactSheetTest, DrawsOriginalsToAPicture) {
  ASSERT_EQ(Sheet(data_.path(), "sheet.png"), 0) << error_;
  EXPECT_THAT(out_,
              AllOf(HasSubstr("images    image/encoded: 49 PNG, 8-57 x 16 pixels; none"),
                    HasSubstr("1 value is not an image"), HasSubstr("sheet.png: 36 of 50 records"),
                    HasSubstr("originals of image/encoded")));
  ASSERT_OK_AND_ASSIGN(const ImageInfo info, ProbeImage(BytesOf(out_folder_.Read("sheet.png"))));
  EXPECT_EQ(info.format, ImageFormat::kPng);
  EXPECT_GT(info.width, 6u * 200);
}

TEST_F(ContactSheetTest, APageShowsEachRecordOnceOrWhyNot) {
  ASSERT_EQ(Sheet(data_.path(), "sheet.HTML", {"--rows", "50", "--json", "-"}), 0) << error_;
  EXPECT_EQ(Json()["contact_sheet"]["records"], 50);
  const std::string page = out_folder_.Read("sheet.HTML");
  for (int i = 0; i < 50; ++i) EXPECT_THAT(page, HasSubstr(absl::StrCat("<span>#", i, "</span>")));
  EXPECT_THAT(page, AllOf(HasSubstr("<b>label 4</b>"), HasSubstr("GIF"), HasSubstr("8x16 PNG")));
}

TEST_F(ContactSheetTest, NamesTheClassesThatTheManifestKnows) {
  data_.Write("classes.txt", "ant\nbee\ncat\ndog\n");
  ASSERT_EQ(Sheet(data_.path(), "sheet.html", {"--rows", "50"}), 0) << error_;
  EXPECT_THAT(out_folder_.Read("sheet.html"),
              AllOf(HasSubstr("<b>ant</b>"), HasSubstr("<b>dog</b>"), HasSubstr("<b>label 4</b>")));
}

TEST_F(ContactSheetTest, RecordsComeFromEverywhereAndNoneTwice) {
  ASSERT_EQ(Sheet(data_.path(), "sheet.html", {"--rows", "10"}), 0) << error_;
  const std::string page = out_folder_.Read("sheet.html");
  std::set<int> shown;
  for (int i = 0; i < 50; ++i) {
    if (page.find(absl::StrCat("<span>#", i, "</span>")) != std::string::npos) shown.insert(i / 5);
  }
  EXPECT_EQ(shown.size(), 10u);
}

TEST_F(ContactSheetTest, ShowsWhatASpecMakesOfTheRecords) {
  const std::string spec = out_folder_.Write(
      "my.textproto", "tensor { name: 'x' bytes { feature: 'gray' shape: [1, 2, 3] } }");
  for (const std::string& input : {data_.path(), shard_}) {
    ASSERT_EQ(
        Sheet(input, "sheet.html", {"--spec", spec, "--rows", "4", "--seed", "3", "--epoch", "2"}),
        0)
        << error_;
    EXPECT_THAT(out_folder_.Read("sheet.html"),
                AllOf(HasSubstr("4 of 50 records"), HasSubstr(", seed 3, epoch 2"),
                      HasSubstr("alt=\"x of record ")));
  }
  EXPECT_THAT(out_folder_.Read("sheet.html"), HasSubstr("the first 4 of 50 records"));
}

TEST_F(ContactSheetTest, SaysWhatItCannotDraw) {
  EXPECT_EQ(Sheet(data_.path(), "sheet.jpg"), 2);
  EXPECT_THAT(error_, AllOf(HasSubstr("sheet.jpg' must end in .png"), HasSubstr(".html")));
  const std::string spec =
      out_folder_.Write("my.textproto", "tensor { name: 'y' label { feature: 'label' } }");
  EXPECT_EQ(Sheet(data_.path(), "sheet.png", {"--spec", spec}), 1);
  EXPECT_THAT(error_, HasSubstr("--contact-sheet: the spec has no picture tensor"));
  EXPECT_FALSE(std::filesystem::exists(out_folder_.File("sheet.png")));
  const TempFolder chess;
  chess.Write("a.tfrecord", ChessShard(5).text());
  EXPECT_EQ(Sheet(chess.path(), "sheet.png"), 1);
  EXPECT_THAT(error_, HasSubstr("no feature holds JPEG or PNG images"));
}

}  // namespace
}  // namespace penstock
