// Checks of paths that a user names, for use before the work starts.
#ifndef PENSTOCK_BASE_FLAGS_PATH_FLAGS_H_
#define PENSTOCK_BASE_FLAGS_PATH_FLAGS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace penstock {

// kNotFound: there is nothing at `path`. The message is "OPTION: PATH: No such file or directory;
// REMEDY". OK if something is there, even if it cannot be read.
absl::Status CheckExists(absl::string_view option, const std::string& path,
                         absl::string_view remedy);

// Tries to write the file `path`, without changing a file that is there. Errors are those of
// AtomicFile::Create(), with "OPTION: " before the message and a remedy after it.
absl::Status CheckWritable(absl::string_view option, const std::string& path);

// The same for a folder, which may be missing. Does not create it. kInvalidArgument: a part of the
// path is not a folder.
absl::Status CheckFolderWritable(absl::string_view option, const std::string& folder);

}  // namespace penstock

#endif  // PENSTOCK_BASE_FLAGS_PATH_FLAGS_H_
