#include "cli/sheet/sheet_file.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/bytes_of.h"
#include "base/drawing/png.h"
#include "base/io/atomic_file.h"
#include "base/status.h"
#include "cli/sheet/sheet_drawing.h"
#include "cli/sheet/sheet_page.h"

namespace penstock {
namespace {

bool IsPage(const std::string& path) { return absl::EndsWithIgnoreCase(path, ".html"); }

}  // namespace

absl::Status CheckSheetName(const std::string& path) {
  if (IsPage(path) || absl::EndsWithIgnoreCase(path, ".png")) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", path, "' must end in .png, for a picture, or in .html, for a page"));
}

absl::Status WriteSheet(const ContactSheet& sheet, const std::string& path) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::string bytes,
                            IsPage(path) ? WriteSheetPage(sheet) : EncodePng(DrawSheet(sheet)));
  return WriteFileAtomically(path, BytesOf(bytes));
}

}  // namespace penstock
