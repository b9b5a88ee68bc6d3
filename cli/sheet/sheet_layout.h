// Computes the positions of everything on a drawn contact sheet.
#ifndef PENSTOCK_CLI_SHEET_SHEET_LAYOUT_H_
#define PENSTOCK_CLI_SHEET_SHEET_LAYOUT_H_

#include <cstddef>
#include <vector>

#include "base/drawing/canvas.h"
#include "cli/sheet/contact_sheet.h"

namespace penstock {

// All cards have the width and height that the largest pictures need. Sizes are in pixels.
class SheetLayout {
 public:
  static constexpr int kMargin = 28;   // Around the sheet.
  static constexpr int kGap = 14;      // Between cards.
  static constexpr int kPadding = 10;  // Within a card.
  static constexpr int kTitleScale = 3;
  static constexpr int kTextScale = 2;

  explicit SheetLayout(const ContactSheet& sheet);

  int width() const { return width_; }
  int height() const { return height_; }
  Rect Card(size_t cell) const;
  // The box of picture `k` of a card; the picture is centred in it.
  Rect PictureBox(size_t cell, size_t k) const;
  // All picture boxes of a card.
  Rect Pictures(size_t cell) const;
  // The top of the pictures' names, and of a card's lines of text.
  int names_top(size_t cell) const { return Pictures(cell).top + box_height_ + kPadding; }
  int label_top(size_t cell) const { return names_top(cell) + names_height_; }
  int note_top(size_t cell) const { return label_top(cell) + kLineHeight; }

 private:
  static constexpr int kLineHeight = 22;
  static constexpr int kMinCardWidth = 150;

  void MeasurePictures(const ContactSheet& sheet);
  void ChooseColumns(size_t cells);

  std::vector<int> box_widths_;  // Indexed by a picture's place in its card.
  int box_height_ = 0;
  int names_height_ = 0;
  int card_width_ = 0;
  int card_height_ = 0;
  int head_height_ = 0;
  size_t columns_ = 1;
  int width_ = 0;
  int height_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_SHEET_SHEET_LAYOUT_H_
