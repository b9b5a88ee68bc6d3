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

// Opens files beneath one folder, whoever chose their names. The kernel resolves the path
// (openat2, RESOLVE_BENEATH), so a link swapped in meanwhile cannot lead out either. Where openat2
// is missing or filtered, the path is walked part by part and links are refused altogether.
// Thread-safe.
class Root {
 public:
  // kNotFound, kPermissionDenied; kInvalidArgument: `folder` is not a folder.
  static absl::StatusOr<Root> Open(const std::string& folder);

  // A regular file at `path`, relative to the root.
  // kPermissionDenied: `path` is absolute, has a "..", or a link leads out of the root.
  // kInvalidArgument: empty, has a NUL, or is no regular file.
  absl::StatusOr<std::unique_ptr<FileSource>> OpenFile(absl::string_view path) const;

  const std::string& folder() const { return folder_; }

  // Walks the path part by part even where openat2 works. For tests.
  void DisableOpenat2ForTesting() { use_openat2_ = false; }

 private:
  Root(UniqueFd fd, std::string folder) : fd_(std::move(fd)), folder_(std::move(folder)) {}

  UniqueFd fd_;
  std::string folder_;
  bool use_openat2_ = true;
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_IO_ROOT_H_
