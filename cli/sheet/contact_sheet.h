// The content of a contact sheet, before it is drawn or written as a page.
#ifndef PENSTOCK_CLI_SHEET_CONTACT_SHEET_H_
#define PENSTOCK_CLI_SHEET_CONTACT_SHEET_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/drawing/picture.h"

namespace penstock {

struct SheetPicture {
  std::string name;  // Name of the tensor or feature.
  Picture picture;
  // An encoded file of the same picture, for pages. If it is empty, the page encodes `picture`
  // itself.
  std::string file = {};
  std::string media_type = {};  // The media type of `file`.
};

// One record on the sheet.
struct SheetCell {
  uint64_t record = 0;
  std::string label = {};  // Empty if there is no label.
  std::string note = {};   // A note, such as size and format.
  std::vector<SheetPicture> pictures = {};
  std::string problem = {};  // The reason why there are no pictures.
};

struct ContactSheet {
  std::string title;
  std::string subtitle;
  std::vector<SheetCell> cells;

  bool HasNotes() const;
  // Whether a record has several pictures, so that each needs its name.
  bool HasSeveralPictures() const;
};

// Returns the maximum width and height of pictures on a sheet.
uint32_t PictureSide(size_t cells);

}  // namespace penstock

#endif  // PENSTOCK_CLI_SHEET_CONTACT_SHEET_H_
