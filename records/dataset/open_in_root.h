// Checks that servers will be able to open what is indexed.
#ifndef PENSTOCK_RECORDS_DATASET_OPEN_IN_ROOT_H_
#define PENSTOCK_RECORDS_DATASET_OPEN_IN_ROOT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/io/file_source.h"
#include "base/io/root.h"

namespace penstock {

// Opens `file`, which is `path` beneath the root, as a server with this root does. Errors are those
// of FileSource::Open(file). Also returns kPermissionDenied if a link on the way is absolute or
// leads out of the root; the message names the link.
absl::StatusOr<std::unique_ptr<FileSource>> OpenInRoot(const Root& root, const std::string& path,
                                                       const std::string& file);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_OPEN_IN_ROOT_H_
