// The label of a record, as a sheet shows it.
#ifndef PENSTOCK_CLI_SHEET_SHEET_LABEL_H_
#define PENSTOCK_CLI_SHEET_SHEET_LABEL_H_

#include <cstdint>
#include <span>
#include <string>

#include "absl/strings/string_view.h"

namespace penstock {

// The class's name, "NAME VALUE" if there is none.
std::string LabelText(absl::string_view name, int64_t value,
                      std::span<const std::string> class_names);

}  // namespace penstock

#endif  // PENSTOCK_CLI_SHEET_SHEET_LABEL_H_
