#include "records/container/sample_keys.h"

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"

namespace penstock {

absl::Status SampleKeys::Add(absl::string_view key) {
  if (seen_.insert(absl::HashOf(key)).second) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      "the members of sample '", key.substr(0, 200),
      "' are not adjacent: other samples lie between them; write the members of each sample one "
      "after another, for example with tar --sort=name"));
}

}  // namespace penstock
