// Splits the names of a WebDataset's members as the library does (webdataset/tariterators.py:
// base_plus_ext() and the skip_meta of tar_file_iterator()).
#ifndef PENSTOCK_RECORDS_CONTAINER_SAMPLE_NAME_H_
#define PENSTOCK_RECORDS_CONTAINER_SAMPLE_NAME_H_

#include <optional>

#include "absl/strings/string_view.h"

namespace penstock {

// Both point into the name.
struct SampleName {
  absl::string_view key;        // The path up to the first dot of the file's name: "a.b/c".
  absl::string_view extension;  // What follows that dot: "seg.png".
};

// Nothing for members that are no part of a sample: names without a dot, or without anything before
// or after their first dot, and all in a top-level folder such as "__meta__". The library reads a
// hidden file of a folder, "a/.x", as a part of sample "a/"; here it is left out as one beside the
// folders is, so that the "._" files of macOS do not cut samples apart.
std::optional<SampleName> SplitSampleName(absl::string_view path);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_CONTAINER_SAMPLE_NAME_H_
