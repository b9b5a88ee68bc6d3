#include "cli/sheet/sheet_layout.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/drawing/text.h"
#include "cli/sheet/shown_size.h"

namespace penstock {
namespace {

// The wanted width of the sheet divided by its height.
constexpr double kAspect = 4.0 / 3.0;

// Returns the number of columns within a quarter of `ideal` that leaves the fewest empty places. If
// several leave equally few, returns the one nearest to `ideal`.
size_t ColumnsOf(size_t cells, double ideal) {
  const auto most = std::clamp<size_t>(static_cast<size_t>(ideal * 1.25), 1, cells);
  const auto least = std::clamp<size_t>(static_cast<size_t>(std::ceil(ideal * 0.75)), 1, most);
  const auto cost = [=](size_t columns) {
    const size_t empty = (columns - cells % columns) % columns;
    return std::pair(empty, std::abs(static_cast<double>(columns) - ideal));
  };
  size_t best = least;
  for (size_t columns = least; columns <= most; ++columns) {
    if (cost(columns) < cost(best)) best = columns;
  }
  return best;
}

}  // namespace

SheetLayout::SheetLayout(const ContactSheet& sheet) {
  MeasurePictures(sheet);
  names_height_ = sheet.HasSeveralPictures() ? kLineHeight : 0;
  const int boxes = std::accumulate(box_widths_.begin(), box_widths_.end(), 0) +
                    kPadding * static_cast<int>(box_widths_.size() - 1);
  card_width_ = std::max(boxes, kMinCardWidth) + 2 * kPadding;
  const int lines = sheet.HasNotes() ? 2 : 1;
  card_height_ = kPadding + box_height_ + kPadding + names_height_ + lines * kLineHeight;
  head_height_ = LineHeight(kTitleScale) + LineHeight(kTextScale) + kGap;
  ChooseColumns(std::max<size_t>(sheet.cells.size(), 1));
  const int text =
      std::max(TextWidth(sheet.title, kTitleScale), TextWidth(sheet.subtitle, kTextScale));
  width_ = std::max(width_, text + 2 * kMargin);
}

void SheetLayout::MeasurePictures(const ContactSheet& sheet) {
  const uint32_t side = PictureSide(sheet.cells.size());
  box_widths_.assign(1, 0);
  for (const SheetCell& cell : sheet.cells) {
    for (size_t k = 0; k < cell.pictures.size(); ++k) {
      const Picture& picture = cell.pictures[k].picture;
      const ShownSize shown = ShownSizeOf(picture.width, picture.height, side);
      if (k == box_widths_.size()) box_widths_.push_back(0);
      box_widths_[k] = std::max(box_widths_[k], static_cast<int>(shown.width));
      box_height_ = std::max(box_height_, static_cast<int>(shown.height));
    }
  }
  if (box_height_ == 0) box_height_ = static_cast<int>(side);
}

void SheetLayout::ChooseColumns(size_t cells) {
  const double step_width = card_width_ + kGap, step_height = card_height_ + kGap;
  columns_ =
      ColumnsOf(cells, std::sqrt(static_cast<double>(cells) * kAspect * step_height / step_width));
  const auto rows = static_cast<int>((cells + columns_ - 1) / columns_);
  width_ = 2 * kMargin + static_cast<int>(columns_) * (card_width_ + kGap) - kGap;
  height_ = 2 * kMargin + head_height_ + rows * (card_height_ + kGap) - kGap;
}

Rect SheetLayout::Card(size_t cell) const {
  const auto column = static_cast<int>(cell % columns_), row = static_cast<int>(cell / columns_);
  return {kMargin + column * (card_width_ + kGap),
          kMargin + head_height_ + row * (card_height_ + kGap), card_width_, card_height_};
}

Rect SheetLayout::Pictures(size_t cell) const {
  const Rect card = Card(cell);
  return {card.left + kPadding, card.top + kPadding, card.width - 2 * kPadding, box_height_};
}

Rect SheetLayout::PictureBox(size_t cell, size_t k) const {
  Rect box = Pictures(cell);
  if (box_widths_.size() == 1) return box;
  for (size_t i = 0; i < k; ++i) box.left += box_widths_[i] + kPadding;
  box.width = box_widths_[k];
  return box;
}

}  // namespace penstock
