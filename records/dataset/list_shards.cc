#include "records/dataset/list_shards.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "records/base/status.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

bool LooksLikeShard(const fs::path& path) {
  const std::string name = path.filename().string();
  return name[0] != '.' && absl::StrContains(name, ".tfrecord");
}

absl::Status ListFolder(const std::string& folder, std::vector<std::string>& out) {
  std::error_code error;
  const size_t before = out.size();
  fs::recursive_directory_iterator it(folder, fs::directory_options::follow_directory_symlink,
                                      error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    if (it->is_directory(error)) {
      if (it->path().filename().string()[0] == '.') it.disable_recursion_pending();
    } else if (LooksLikeShard(it->path())) {
      out.push_back(it->path().string());
    }
  }
  if (error) return ErrnoToStatus(error.value(), folder);
  if (out.size() == before) {
    return absl::NotFoundError(absl::StrCat(folder, ": has no files *.tfrecord*"));
  }
  std::sort(out.begin() + static_cast<ptrdiff_t>(before), out.end());
  return absl::OkStatus();
}

fs::path Normal(const std::string& path) {
  fs::path normal = fs::absolute(path).lexically_normal();
  return normal.has_filename() ? normal : normal.parent_path();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ListShards(std::span<const std::string> paths) {
  if (paths.empty()) return absl::InvalidArgumentError("no folder and no files to index");
  std::vector<std::string> out;
  for (const std::string& path : paths) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status)) return absl::NotFoundError(absl::StrCat(path, ": is not there"));
    if (fs::is_directory(status)) {
      PENSTOCK_RETURN_IF_ERROR(ListFolder(path, out));
    } else {
      out.push_back(path);
    }
  }
  std::vector<std::string> sorted;
  for (const std::string& path : out) sorted.push_back(Normal(path).string());
  std::sort(sorted.begin(), sorted.end());
  auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice == sorted.end()) return out;
  return absl::InvalidArgumentError(absl::StrCat(*twice, ": is named twice"));
}

absl::StatusOr<std::string> PathBeneath(const std::string& folder, const std::string& file) {
  const std::string relative = Normal(file).lexically_relative(Normal(folder)).generic_string();
  if (!relative.empty() && relative != "." && relative != ".." &&
      !absl::StartsWith(relative, "../")) {
    return relative;
  }
  return absl::InvalidArgumentError(
      absl::StrCat(file, ": does not lie beneath ", folder,
                   ", the manifest's folder: write the manifest above it (-o) or use --absolute"));
}

std::string FolderOfFile(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, std::max<size_t>(slash, 1));
}

}  // namespace penstock
