// Draws a contact sheet as one picture.
#ifndef PENSTOCK_CLI_SHEET_SHEET_DRAWING_H_
#define PENSTOCK_CLI_SHEET_SHEET_DRAWING_H_

#include "base/drawing/picture.h"
#include "cli/sheet/contact_sheet.h"

namespace penstock {

// Draws a card for each record, in rows. Pixels of small pictures are shown as squares, so that you
// can count the pixels that a trainer sees. Large pictures are shrunk.
Picture DrawSheet(const ContactSheet& sheet);

}  // namespace penstock

#endif  // PENSTOCK_CLI_SHEET_SHEET_DRAWING_H_
