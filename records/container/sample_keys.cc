#include "records/container/sample_keys.h"

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"

namespace penstock {

absl::Status SampleKeys::Add(absl::string_view key) {
  if (seen_.insert(absl::HashOf(key)).second) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      "the parts of sample '", key.substr(0, 200),
      "' are not together: some lie here and some before another sample; write the members of a "
      "sample one after another, for example with tar --sort=name"));
}

}  // namespace penstock
