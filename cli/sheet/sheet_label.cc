#include "cli/sheet/sheet_label.h"

#include "absl/strings/str_cat.h"

namespace penstock {

std::string LabelText(absl::string_view name, int64_t value,
                      std::span<const std::string> class_names) {
  const bool named = value >= 0 && static_cast<uint64_t>(value) < class_names.size();
  return named ? class_names[static_cast<size_t>(value)] : absl::StrCat(name, " ", value);
}

}  // namespace penstock
