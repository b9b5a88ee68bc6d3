#include "records/dataset/open_in_root.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "records/dataset/list_shards.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

bool LeadsOut(const fs::path& link, const std::string& folder) {
  std::error_code ignored;
  return fs::read_symlink(link, ignored).is_absolute() ||
         !PathBeneath(folder, fs::canonical(link, ignored).string()).ok();
}

// Returns the first link on the way from `folder` to `path` that leads out, or the last link if no
// single link does.
fs::path RefusedLink(const fs::path& folder, const fs::path& path) {
  std::error_code ignored;
  const std::string place = fs::canonical(folder, ignored).string();
  fs::path at = folder, last = folder / path;
  for (const fs::path& part : path) {
    at /= part;
    if (!fs::is_symlink(at, ignored)) continue;
    if (LeadsOut(at, place)) return at;
    last = at;
  }
  return last;
}

}  // namespace

absl::StatusOr<std::unique_ptr<FileSource>> OpenInRoot(const Root& root, const std::string& path,
                                                       const std::string& file) {
  absl::StatusOr<std::unique_ptr<FileSource>> source = root.OpenFile(path);
  if (source.ok()) return source;
  PENSTOCK_RETURN_IF_ERROR(FileSource::Open(file).status());  // Names it as the caller does.
  if (!absl::IsPermissionDenied(source.status())) return source;
  const fs::path link = RefusedLink(root.folder(), path);
  std::error_code ignored;
  return absl::PermissionDeniedError(absl::StrCat(
      link.string(), ": is a link to ", fs::read_symlink(link, ignored).string(),
      ": servers do not follow links that are absolute or lead out of ", root.folder(),
      ". Make it a relative link within that folder (-o puts the manifest, and with it that "
      "folder, further up), or index the target of the link"));
}

}  // namespace penstock
