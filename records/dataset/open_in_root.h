// Whether servers will open what is indexed.
#ifndef PENSTOCK_RECORDS_DATASET_OPEN_IN_ROOT_H_
#define PENSTOCK_RECORDS_DATASET_OPEN_IN_ROOT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/io/file_source.h"
#include "base/io/root.h"

namespace penstock {

// Opens `file`, which is `path` beneath the root, as servers with this root do. Errors are those of
// FileSource::Open(file); kPermissionDenied also: a link on the way leads out of the root, or is
// absolute, which the message names.
absl::StatusOr<std::unique_ptr<FileSource>> OpenInRoot(const Root& root, const std::string& path,
                                                       const std::string& file);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_OPEN_IN_ROOT_H_
