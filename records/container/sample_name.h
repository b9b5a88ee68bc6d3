// Splits the names of WebDataset members as the webdataset library does
// (webdataset/tariterators.py: base_plus_ext(), and the skip_meta of tar_file_iterator()).
#ifndef PENSTOCK_RECORDS_CONTAINER_SAMPLE_NAME_H_
#define PENSTOCK_RECORDS_CONTAINER_SAMPLE_NAME_H_

#include <optional>

#include "absl/strings/string_view.h"

namespace penstock {

// Both views point into the member's name.
struct SampleName {
  absl::string_view key;        // The path up to the first dot of the file name: "a.b/c".
  absl::string_view extension;  // The text after that dot: "seg.png".
};

// Returns nullopt for members that belong to no sample: names without a dot, names with nothing
// before or after their first dot, and all names in a top-level folder such as "__meta__".
//
// This differs from the library in one case. The library takes a hidden file in a folder, "a/.x",
// for a part of the sample "a/". Here it is skipped, like a hidden file outside folders, so that
// the "._" files of macOS do not split samples.
std::optional<SampleName> SplitSampleName(absl::string_view path);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_CONTAINER_SAMPLE_NAME_H_
