#include "cli/sheet/contact_sheet.h"

#include <algorithm>

namespace penstock {

bool ContactSheet::HasNotes() const {
  return std::any_of(cells.begin(), cells.end(),
                     [](const SheetCell& cell) { return !cell.note.empty(); });
}

bool ContactSheet::HasSeveralPictures() const {
  return std::any_of(cells.begin(), cells.end(),
                     [](const SheetCell& cell) { return cell.pictures.size() > 1; });
}

uint32_t PictureSide(size_t cells) { return cells <= 64 ? 224 : 112; }

}  // namespace penstock
