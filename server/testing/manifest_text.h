// Files that begin like manifests, for tests that read no further.
#ifndef PENSTOCK_SERVER_TESTING_MANIFEST_TEXT_H_
#define PENSTOCK_SERVER_TESTING_MANIFEST_TEXT_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace penstock {

// The first eight bytes are those of docs/reference/manifest_format.md.
inline std::string ManifestText(absl::string_view rest) {
  return absl::StrCat("PNSTKM\x1a\n", rest);
}

}  // namespace penstock

#endif  // PENSTOCK_SERVER_TESTING_MANIFEST_TEXT_H_
