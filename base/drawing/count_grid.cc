#include "base/drawing/count_grid.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/drawing/canvas.h"
#include "base/drawing/text.h"

namespace penstock {
namespace {

constexpr Color kPage = {255, 255, 255};
constexpr Color kInk = {28, 33, 40};
constexpr Color kFaint = {120, 128, 138};
constexpr Color kLine = {226, 229, 234};
constexpr Color kFull = {18, 68, 130};

constexpr int kMargin = 28;
constexpr int kGap = 12;
constexpr int kScale = 2;
constexpr int kTitleScale = 3;
constexpr int kMaxNameWidth = 240;
// Cells show counts in grids of at most kMaxNumbered rows and columns. At most kMaxNamed rows or
// columns have names.
constexpr size_t kMaxNumbered = 40;
constexpr size_t kMaxNamed = 200;
constexpr int kNumberedCell = 44;  // Smallest side of a cell with a count.
constexpr int kNamedCell = 20;     // Side of a cell without a count: one line of text.
// Largest side of the whole grid if cells have neither counts nor names.
constexpr int kMaxSide = 4000;

size_t SideOf(const CountGrid& grid) {
  return std::max(grid.row_names.size(), grid.column_names.size());
}

int WidestOf(std::span<const std::string> names) {
  if (names.size() > kMaxNamed) return 0;
  int width = 0;
  for (const std::string& name : names) width = std::max(width, TextWidth(name, kScale));
  return std::min(width, kMaxNameWidth);
}

// Draws one grid.
class Drawing {
 public:
  explicit Drawing(const CountGrid& grid)
      : grid_(grid),
        numbered_(SideOf(grid) <= kMaxNumbered),
        cell_(CellSize()),
        upright_(WidestOf(grid.column_names) > cell_ - kGap),
        left_(kMargin + LineHeight(kScale) + WidestOf(grid.row_names) + kGap),
        top_(kMargin + LineHeight(kTitleScale) + 2 * LineHeight(kScale) + kGap + NamesHeight()),
        canvas_(Width(), Height(), kPage) {}

  Picture Draw() {
    Titles();
    for (size_t row = 0; row < grid_.row_names.size(); ++row) Row(row);
    for (size_t row = 0; row < NumNamed(grid_.row_names); ++row) RowName(row);
    for (size_t column = 0; column < NumNamed(grid_.column_names); ++column) ColumnName(column);
    return std::move(canvas_).Take();
  }

 private:
  static int Count(std::span<const std::string> names) { return static_cast<int>(names.size()); }
  static size_t NumNamed(std::span<const std::string> names) {
    return names.size() <= kMaxNamed ? names.size() : 0;
  }

  int CellSize() const {
    if (SideOf(grid_) > kMaxNamed) {
      return std::max(kMaxSide / static_cast<int>(SideOf(grid_)), 1);
    }
    if (!numbered_) return kNamedCell;
    const uint64_t largest = *std::max_element(grid_.counts.begin(), grid_.counts.end());
    return std::max(kNumberedCell, TextWidth(absl::StrCat(largest), kScale) + kGap);
  }
  int NamesHeight() const {
    return (upright_ ? WidestOf(grid_.column_names) : kCapitalRows * kScale) + kGap;
  }
  int Width() const {
    const int texts =
        std::max(TextWidth(grid_.title, kTitleScale), TextWidth(grid_.subtitle, kScale));
    const int cells =
        left_ + std::max(cell_ * Count(grid_.column_names), TextWidth(grid_.column_title, kScale));
    return std::max(kMargin + texts, cells) + kMargin;
  }

  int Height() const {
    return top_ + std::max(cell_ * Count(grid_.row_names), TextWidth(grid_.row_title, kScale)) +
           kMargin;
  }

  void Titles() {
    int y = kMargin;
    canvas_.Text(grid_.title, kMargin, y, kTitleScale, kInk);
    y += LineHeight(kTitleScale);
    canvas_.Text(grid_.subtitle, kMargin, y, kScale, kFaint);
    y += LineHeight(kScale) + kGap;
    canvas_.Text(grid_.column_title, left_, y, kScale, kFaint);
    canvas_.TextUp(grid_.row_title, kMargin, top_ + TextWidth(grid_.row_title, kScale), kScale,
                   kFaint);
  }

  void Row(size_t row) {
    const size_t columns = grid_.column_names.size();
    const auto counts = std::span(grid_.counts).subspan(row * columns, columns);
    const uint64_t total = std::accumulate(counts.begin(), counts.end(), uint64_t{0});
    const int y = top_ + cell_ * static_cast<int>(row);
    for (size_t column = 0; column < columns; ++column) {
      const double share =
          total == 0 ? 0 : static_cast<double>(counts[column]) / static_cast<double>(total);
      Cell({left_ + cell_ * static_cast<int>(column), y, cell_, cell_}, counts[column], share);
    }
  }

  void Cell(const Rect& rect, uint64_t count, double share) {
    // The square root keeps a few mistakes among many hits visible.
    const Color color = Mix(kPage, kFull, std::sqrt(share));
    canvas_.Fill(rect, color);
    if (rect.width >= kNamedCell) {
      canvas_.Frame({rect.left, rect.top, rect.width + 1, rect.height + 1}, kLine);
    }
    if (!numbered_ || count == 0) return;
    const std::string number = absl::StrCat(count);
    canvas_.Text(number, rect.left + (rect.width - TextWidth(number, kScale)) / 2,
                 TextTop(rect.top), kScale, share > 0.2 ? kPage : kInk);
  }

  void RowName(size_t row) {
    const std::string name = Shortened(grid_.row_names[row], kScale, kMaxNameWidth);
    canvas_.Text(name, left_ - kGap - TextWidth(name, kScale),
                 TextTop(top_ + cell_ * static_cast<int>(row)), kScale, kInk);
  }

  void ColumnName(size_t column) {
    const std::string name = Shortened(grid_.column_names[column], kScale, kMaxNameWidth);
    const int x = left_ + cell_ * static_cast<int>(column);
    if (upright_) {
      canvas_.TextUp(name, TextTop(x), top_ - kGap, kScale, kInk);
    } else {
      canvas_.Text(name, x + (cell_ - TextWidth(name, kScale)) / 2,
                   top_ - kGap - kCapitalRows * kScale, kScale, kInk);
    }
  }

  // Returns the top of the capital letters of a line that is centred in the cell that begins at
  // `begin`.
  int TextTop(int begin) const { return begin + (cell_ - kCapitalRows * kScale) / 2; }

  const CountGrid& grid_;
  const bool numbered_;
  const int cell_;
  const bool upright_;  // Column names are wider than a cell, so they are drawn upright.
  const int left_;      // Left edge of the first cell.
  const int top_;
  Canvas canvas_;
};

}  // namespace

Picture DrawCountGrid(const CountGrid& grid) { return Drawing(grid).Draw(); }

}  // namespace penstock
