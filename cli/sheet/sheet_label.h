// Formats the label of a record for a sheet.
#ifndef PENSTOCK_CLI_SHEET_SHEET_LABEL_H_
#define PENSTOCK_CLI_SHEET_SHEET_LABEL_H_

#include <cstdint>
#include <span>
#include <string>

#include "absl/strings/string_view.h"

namespace penstock {

// Returns the class's name, or "NAME VALUE" if there is none.
std::string LabelText(absl::string_view name, int64_t value,
                      std::span<const std::string> class_names);

}  // namespace penstock

#endif  // PENSTOCK_CLI_SHEET_SHEET_LABEL_H_
