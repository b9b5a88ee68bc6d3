// Says what a path leads to if it is not a regular file.
#ifndef PENSTOCK_BASE_IO_FILE_KIND_H_
#define PENSTOCK_BASE_IO_FILE_KIND_H_

#include <sys/stat.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace penstock {

// "a regular file", "a folder", "a pipe", "a socket" or "a device".
inline absl::string_view FileKind(mode_t mode) {
  if (S_ISREG(mode)) return "a regular file";
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  return S_ISSOCK(mode) ? "a socket" : "a device";
}

// kInvalidArgument: "PATH: is a folder, not a regular file".
inline absl::Status NotRegularError(absl::string_view path, mode_t mode) {
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": is ", FileKind(mode), ", not a regular file"));
}

}  // namespace penstock

#endif  // PENSTOCK_BASE_IO_FILE_KIND_H_
