#include "base/flags/path_flags.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "base/io/atomic_file.h"
#include "base/status.h"

namespace penstock {
namespace {

absl::string_view RemedyOf(const absl::Status& status) {
  if (absl::IsNotFound(status)) return "; make its folder first, or give another path";
  if (absl::IsPermissionDenied(status)) return "; give a path in a folder that you may write to";
  return "";
}

absl::Status About(absl::string_view option, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(option, ": ", status.message(), RemedyOf(status)));
}

// The deepest part of `folder` that exists; "." if none does.
std::string ExistingPart(const std::string& folder) {
  std::error_code ignored;  // A part that this process cannot see counts as missing.
  std::filesystem::path part(folder);
  while (!part.empty() && !std::filesystem::exists(part, ignored)) {
    const std::filesystem::path parent = part.parent_path();
    part = parent == part ? "" : parent;
  }
  return part.empty() ? "." : part.string();
}

}  // namespace

absl::Status CheckExists(absl::string_view option, const std::string& path,
                         absl::string_view remedy) {
  struct stat info {};
  if (stat(path.c_str(), &info) == 0 || (errno != ENOENT && errno != ENOTDIR)) {
    return absl::OkStatus();
  }
  const absl::Status status = ErrnoToStatus(errno, path);
  return absl::Status(status.code(), absl::StrCat(option, ": ", status.message(), "; ", remedy));
}

absl::Status CheckWritable(absl::string_view option, const std::string& path) {
  return About(option, AtomicFile::Create(path).status());
}

absl::Status CheckFolderWritable(absl::string_view option, const std::string& folder) {
  const std::string part = ExistingPart(folder);
  std::error_code ignored;
  if (!std::filesystem::is_directory(part, ignored)) {
    return absl::InvalidArgumentError(
        absl::StrCat(option, ": ", part, ": is not a folder; give another path"));
  }
  if (access(part.c_str(), W_OK | X_OK) == 0) return absl::OkStatus();
  return About(option, ErrnoToStatus(errno, part));
}

}  // namespace penstock
