// Writes a contact sheet as one page for browsers.
#ifndef PENSTOCK_CLI_SHEET_SHEET_PAGE_H_
#define PENSTOCK_CLI_SHEET_SHEET_PAGE_H_

#include <string>

#include "absl/status/statusor.h"
#include "cli/sheet/contact_sheet.h"

namespace penstock {

// Returns HTML that needs no other file, no network and no scripts: images are inlined, and colours
// follow the browser's light or dark mode. Errors are those of EncodePng().
absl::StatusOr<std::string> WriteSheetPage(const ContactSheet& sheet);

}  // namespace penstock

#endif  // PENSTOCK_CLI_SHEET_SHEET_PAGE_H_
