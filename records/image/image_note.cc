#include "records/image/image_note.h"

#include "absl/strings/str_cat.h"
#include "base/text.h"

namespace penstock {

std::string Describe(const ImageCounts& counts) {
  std::string text;
  if (counts.truncated > 0) {
    text = absl::StrCat(Counted(counts.truncated, "truncated file was", "truncated files were"),
                        " filled");
  }
  if (counts.warnings > 0) {
    absl::StrAppend(&text, text.empty() ? "" : ", ",
                    Counted(counts.warnings, "decoder warning", "decoder warnings"));
  }
  return text;
}

}  // namespace penstock
