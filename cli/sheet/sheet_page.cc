#include "cli/sheet/sheet_page.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/drawing/png.h"
#include "base/status.h"
#include "cli/sheet/shown_size.h"

namespace penstock {
namespace {

constexpr absl::string_view kStyle = R"(
:root { color-scheme: light dark; --page: #f3f4f6; --card: #fff; --edge: #d8dce2; --ink: #1c2128;
  --faint: #66707c; --problem: #a62c22; --problem-card: #fdf0ee; }
@media (prefers-color-scheme: dark) {
  :root { --page: #14171b; --card: #1d2126; --edge: #343a42; --ink: #e6e9ed; --faint: #98a1ac;
    --problem: #ff9d92; --problem-card: #3a1f1c; }
}
body { margin: 2rem; background: var(--page); color: var(--ink);
  font: 15px/1.45 system-ui, sans-serif; }
h1 { margin: 0; font-size: 1.5rem; overflow-wrap: anywhere; }
header p { margin: .25rem 0 1.5rem; color: var(--faint); overflow-wrap: anywhere; }
main { display: grid; gap: 14px;
  grid-template-columns: repeat(auto-fill, min(var(--card-width), 100%)); }
figure { margin: 0; padding: 10px; background: var(--card); border: 1px solid var(--edge);
  border-radius: 8px; display: flex; flex-direction: column; }
.pictures { display: flex; gap: 10px; flex: 1; align-items: center; justify-content: center; }
.pictures div { text-align: center; color: var(--faint); font-size: .8rem; }
img { display: block; max-width: 100%; image-orientation: none; }
img.zoomed { image-rendering: pixelated; }
.problem { flex: 1; margin: 0; padding: 10px; border-radius: 4px; color: var(--problem);
  background: var(--problem-card); font-size: .85rem; overflow-wrap: anywhere; }
figcaption { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 10px;
  margin-top: 10px; }
figcaption b { font-weight: 600; overflow-wrap: anywhere; }
figcaption span, figcaption small { color: var(--faint); font-variant-numeric: tabular-nums; }
figcaption small { flex-basis: 100%; }
)";

std::string Escape(absl::string_view text) {
  return absl::StrReplaceAll(
      text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});
}

std::string Element(absl::string_view tag, absl::string_view text) {
  return text.empty() ? "" : absl::StrCat("<", tag, ">", Escape(text), "</", tag, ">");
}

absl::StatusOr<std::string> Source(const SheetPicture& shown) {
  if (!shown.file.empty()) {
    return absl::StrCat("data:", shown.media_type, ";base64,", absl::Base64Escape(shown.file));
  }
  PENSTOCK_ASSIGN_OR_RETURN(const std::string png, EncodePng(shown.picture));
  return absl::StrCat("data:image/png;base64,", absl::Base64Escape(png));
}

// Writes a page of one sheet.
class Page {
 public:
  explicit Page(const ContactSheet& sheet)
      : sheet_(sheet), side_(PictureSide(sheet.cells.size())), named_(sheet.HasSeveralPictures()) {}

  absl::StatusOr<std::string> Write() {
    absl::StrAppend(
        &html_, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
        "<meta name=\"viewport\" content=\"width=device-width\">\n", Element("title", sheet_.title),
        "\n<style>:root { --card-width: ", CardWidth(), "px; }", kStyle,
        "</style>\n</head>\n<body>\n<header>", Element("h1", sheet_.title),
        Element("p", sheet_.subtitle), "</header>\n<main>\n");
    for (const SheetCell& cell : sheet_.cells) PENSTOCK_RETURN_IF_ERROR(Add(cell));
    absl::StrAppend(&html_, "</main>\n</body>\n</html>\n");
    return std::move(html_);
  }

 private:
  absl::Status Add(const SheetCell& cell) {
    absl::StrAppend(&html_, "<figure>");
    if (cell.problem.empty()) {
      absl::StrAppend(&html_, "<div class=\"pictures\">");
      for (const SheetPicture& shown : cell.pictures) {
        PENSTOCK_RETURN_IF_ERROR(Add(shown, cell));
      }
      absl::StrAppend(&html_, "</div>");
    } else {
      absl::StrAppend(&html_, "<p class=\"problem\">", Escape(cell.problem), "</p>");
    }
    absl::StrAppend(&html_, "<figcaption><b>", Escape(cell.label), "</b><span>#", cell.record,
                    "</span>", Element("small", cell.note), "</figcaption></figure>\n");
    return absl::OkStatus();
  }

  absl::Status Add(const SheetPicture& shown, const SheetCell& cell) {
    PENSTOCK_ASSIGN_OR_RETURN(const std::string source, Source(shown));
    const ShownSize size = ShownSizeOf(shown.picture.width, shown.picture.height, side_);
    absl::StrAppend(&html_, "<div><img", size.zoom > 1 ? " class=\"zoomed\"" : "", " width=\"",
                    size.width, "\" height=\"", size.height, "\" alt=\"", Escape(shown.name),
                    " of record ", cell.record, "\" src=\"", source, "\">",
                    named_ ? Escape(shown.name) : "", "</div>");
    return absl::OkStatus();
  }

  // Returns the width of a card's pictures side by side, with padding and border.
  size_t CardWidth() const {
    size_t width = 0;
    for (const SheetCell& cell : sheet_.cells) {
      size_t pictures = 22;
      for (const SheetPicture& shown : cell.pictures) {
        pictures +=
            ShownSizeOf(shown.picture.width, shown.picture.height, side_).width + size_t{10};
      }
      width = std::max(width, pictures);
    }
    return std::max<size_t>(width, 160);
  }

  const ContactSheet& sheet_;
  const uint32_t side_;
  const bool named_;
  std::string html_;
};

}  // namespace

absl::StatusOr<std::string> WriteSheetPage(const ContactSheet& sheet) {
  return Page(sheet).Write();
}

}  // namespace penstock
