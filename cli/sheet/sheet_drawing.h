// A contact sheet as one picture.
#ifndef PENSTOCK_CLI_SHEET_SHEET_DRAWING_H_
#define PENSTOCK_CLI_SHEET_SHEET_DRAWING_H_

#include "base/drawing/picture.h"
#include "cli/sheet/contact_sheet.h"

namespace penstock {

// A card for each record, in rows. Small pictures are shown with squares for pixels, so that what a
// trainer sees can be counted; large ones are shrunk.
Picture DrawSheet(const ContactSheet& sheet);

}  // namespace penstock

#endif  // PENSTOCK_CLI_SHEET_SHEET_DRAWING_H_
