#include "cli/sheet/sheet_drawing.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/drawing/canvas.h"
#include "base/drawing/text.h"
#include "cli/sheet/sheet_layout.h"
#include "cli/sheet/shown_size.h"

namespace penstock {
namespace {

constexpr Color kPage = {243, 244, 246};
constexpr Color kCard = {255, 255, 255};
constexpr Color kEdge = {216, 220, 226};
constexpr Color kInk = {28, 33, 40};
constexpr Color kFaint = {120, 128, 138};
constexpr Color kProblemCard = {253, 240, 238};
constexpr Color kProblemInk = {166, 44, 34};

constexpr int kScale = SheetLayout::kTextScale;

// Draws cells of a sheet to a canvas.
class Drawing {
 public:
  Drawing(const ContactSheet& sheet, const SheetLayout& layout, Canvas& canvas)
      : sheet_(sheet), layout_(layout), canvas_(canvas) {}

  void Head() {
    canvas_.Text(sheet_.title, SheetLayout::kMargin, SheetLayout::kMargin, SheetLayout::kTitleScale,
                 kInk);
    canvas_.Text(sheet_.subtitle, SheetLayout::kMargin,
                 SheetLayout::kMargin + LineHeight(SheetLayout::kTitleScale), kScale, kFaint);
  }

  void Cell(size_t i) {
    const SheetCell& cell = sheet_.cells[i];
    canvas_.Fill(layout_.Card(i), kCard);
    canvas_.Frame(layout_.Card(i), kEdge);
    for (size_t k = 0; k < cell.pictures.size(); ++k) Show(cell.pictures[k], i, k);
    if (!cell.problem.empty()) Problem(cell.problem, layout_.Pictures(i));
    Captions(cell, i);
  }

 private:
  void Show(const SheetPicture& shown, size_t i, size_t k) {
    const Rect box = layout_.PictureBox(i, k);
    const Picture& picture = shown.picture;
    const PixelView view = {picture.pixels.data(), picture.width, picture.height,
                            static_cast<int>(picture.channels)};
    const uint32_t side = PictureSide(sheet_.cells.size());
    const ShownSize size = ShownSizeOf(picture.width, picture.height, side);
    canvas_.Draw(ShrunkToFit(view, side), box.left + (box.width - static_cast<int>(size.width)) / 2,
                 box.top + (box.height - static_cast<int>(size.height)) / 2,
                 static_cast<int>(std::max(size.zoom, 1u)));
    if (sheet_.HasSeveralPictures()) {
      canvas_.Text(Shortened(shown.name, kScale, box.width), box.left, layout_.names_top(i), kScale,
                   kFaint);
    }
  }

  void Problem(const std::string& problem, const Rect& box) {
    canvas_.Fill(box, kProblemCard);
    const int width = box.width - 2 * SheetLayout::kPadding;
    const int lines = (box.height - 2 * SheetLayout::kPadding) / LineHeight(kScale);
    int top = box.top + SheetLayout::kPadding;
    for (const std::string& line :
         Wrapped(problem, kScale, width, static_cast<size_t>(std::max(lines, 1)))) {
      canvas_.Text(line, box.left + SheetLayout::kPadding, top, kScale, kProblemInk);
      top += LineHeight(kScale);
    }
  }

  void Captions(const SheetCell& cell, size_t i) {
    const Rect box = layout_.Pictures(i);
    const std::string number = absl::StrCat("#", cell.record);
    const int width = TextWidth(number, kScale);
    canvas_.Text(number, box.left + box.width - width, layout_.label_top(i), kScale, kFaint);
    canvas_.Text(Shortened(cell.label, kScale, box.width - width - SheetLayout::kPadding), box.left,
                 layout_.label_top(i), kScale, kInk);
    canvas_.Text(Shortened(cell.note, kScale, box.width), box.left, layout_.note_top(i), kScale,
                 kFaint);
  }

  const ContactSheet& sheet_;
  const SheetLayout& layout_;
  Canvas& canvas_;
};

}  // namespace

Picture DrawSheet(const ContactSheet& sheet) {
  const SheetLayout layout(sheet);
  Canvas canvas(layout.width(), layout.height(), kPage);
  Drawing drawing(sheet, layout, canvas);
  drawing.Head();
  for (size_t i = 0; i < sheet.cells.size(); ++i) drawing.Cell(i);
  return std::move(canvas).Take();
}

}  // namespace penstock
