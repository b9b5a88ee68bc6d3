// A folder that paths cannot leave.
#ifndef PENSTOCK_BASE_IO_ROOT_H_
#define PENSTOCK_BASE_IO_ROOT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/io/file_source.h"
#include "base/io/unique_fd.h"

namespace penstock {

// Opens files beneath one folder, even if their names come from somebody who is not trusted. The
// kernel resolves the path (openat2, RESOLVE_BENEATH), so a link that is swapped in meanwhile
// cannot lead out either. If openat2 is missing or filtered, the path is walked component by
// component, and links are refused altogether.
// Thread-safe.
class Root {
 public:
  // Returns kNotFound, kPermissionDenied, or kInvalidArgument if `folder` is not a folder.
  static absl::StatusOr<Root> Open(const std::string& folder);

  // Opens a regular file at `path`, relative to the root.
  // kPermissionDenied: `path` is absolute or has a "..", or a link leads out of the root.
  // kInvalidArgument: `path` is empty, has a NUL, or is no regular file.
  absl::StatusOr<std::unique_ptr<FileSource>> OpenFile(absl::string_view path) const;

  const std::string& folder() const { return folder_; }

  // Walks the path component by component even if openat2 works.
  void DisableOpenat2ForTesting() { use_openat2_ = false; }

 private:
  Root(UniqueFd fd, std::string folder) : fd_(std::move(fd)), folder_(std::move(folder)) {}

  UniqueFd fd_;
  std::string folder_;
  bool use_openat2_ = true;
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_IO_ROOT_H_
