// Writes a contact sheet to a file.
#ifndef PENSTOCK_CLI_SHEET_SHEET_FILE_H_
#define PENSTOCK_CLI_SHEET_SHEET_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "cli/sheet/contact_sheet.h"

namespace penstock {

// kInvalidArgument: the name ends neither in .png nor in .html.
absl::Status CheckSheetName(const std::string& path);

// Writes a picture or a page, depending on the extension. REQUIRES: CheckSheetName() is OK.
absl::Status WriteSheet(const ContactSheet& sheet, const std::string& path);

}  // namespace penstock

#endif  // PENSTOCK_CLI_SHEET_SHEET_FILE_H_
