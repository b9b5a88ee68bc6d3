#include "cli/sheet/sheet_page.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "cli/sheet/testing/test_images.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string PageOf(const SheetCell& cell) {
  const ContactSheet sheet{.title = "<data> & more", .subtitle = "1 record", .cells = {cell}};
  return WriteSheetPage(sheet).value();
}

TEST(SheetPageTest, InlinesThePictureOrTheFileAsItIsStored) {
  const Picture picture = TestPicture(3, 2);
  SheetCell cell{.record = 17, .label = "cat", .pictures = {{"image", picture}}};
  const std::string png = absl::Base64Escape(EncodePng(picture).value());
  EXPECT_THAT(PageOf(cell),
              AllOf(HasSubstr(absl::StrCat("src=\"data:image/png;base64,", png, "\"")),
                    HasSubstr("alt=\"image of record 17\""), HasSubstr("<b>cat</b>"),
                    HasSubstr("#17"), HasSubstr("class=\"zoomed\""), HasSubstr("width=\"222\"")));
  cell.pictures[0].file = TestJpeg();
  cell.pictures[0].media_type = "image/jpeg";
  EXPECT_THAT(
      PageOf(cell),
      AllOf(HasSubstr(absl::StrCat("data:image/jpeg;base64,", absl::Base64Escape(TestJpeg()))),
            Not(HasSubstr("image/png"))));
}

TEST(SheetPageTest, NeedsNothingButItself) {
  const SheetCell cell{.pictures = {{"image", TestPicture(3, 2)}}};
  EXPECT_THAT(PageOf(cell), AllOf(Not(HasSubstr("<script")), Not(HasSubstr("http")),
                                  Not(HasSubstr("@import")), HasSubstr("prefers-color-scheme")));
}

TEST(SheetPageTest, TextOfTheDataIsNoMarkup) {
  const SheetCell cell{.label = "<b onclick='x'>", .note = "\"&", .problem = "</p><script>"};
  EXPECT_THAT(PageOf(cell), AllOf(HasSubstr("<h1>&lt;data&gt; &amp; more</h1>"),
                                  HasSubstr("<b>&lt;b onclick=&#39;x&#39;&gt;</b>"),
                                  HasSubstr("<small>&quot;&amp;</small>"),
                                  HasSubstr("<p class=\"problem\">&lt;/p&gt;&lt;script&gt;</p>")));
}

TEST(SheetPageTest, SeveralPicturesHaveTheirNames) {
  const SheetCell one{.pictures = {{"image", TestPicture(3, 2)}}};
  const SheetCell two{.pictures = {{"image", TestPicture(3, 2)}, {"mask", TestPicture(3, 2)}}};
  EXPECT_THAT(PageOf(one), Not(HasSubstr("\">image</div>")));
  EXPECT_THAT(PageOf(two), AllOf(HasSubstr("\">image</div>"), HasSubstr("\">mask</div>")));
}

}  // namespace
}  // namespace penstock
