#include "records/dataset/kept_manifests.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/io/atomic_file.h"
#include "base/io/file_source.h"
#include "base/status.h"
#include "records/dataset/list_shards.h"

namespace fs = std::filesystem;

namespace penstock {
namespace {

constexpr size_t kDigits = 16;

// Whether `name` is "MANIFEST.FINGERPRINT".
bool IsKeptName(absl::string_view name, absl::string_view manifest) {
  return absl::ConsumePrefix(&name, manifest) && absl::ConsumePrefix(&name, ".") &&
         name.size() == kDigits && std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_isxdigit(c) && !absl::ascii_isupper(c);
         });
}

std::string ManifestPath(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return path;
  return absl::StrCat(absl::StripSuffix(path, "/"), "/", kManifestName);
}

}  // namespace

std::string KeptManifestPath(const std::string& path, uint64_t content_fingerprint) {
  return absl::StrCat(path, ".", absl::Hex(content_fingerprint, absl::kZeroPad16));
}

absl::StatusOr<std::string> KeepManifest(const std::string& path, uint64_t content_fingerprint) {
  std::string kept = KeptManifestPath(path, content_fingerprint);
  std::error_code ignored;
  if (fs::exists(kept, ignored)) return kept;
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadWholeFile(path));
  PENSTOCK_RETURN_IF_ERROR(WriteFileAtomically(kept, bytes));
  return kept;
}

std::vector<std::string> ListKeptManifests(const std::string& path) {
  const fs::path manifest = ManifestPath(path);
  const fs::path folder = manifest.has_parent_path() ? manifest.parent_path() : fs::path(".");
  std::vector<std::pair<fs::file_time_type, std::string>> kept;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!IsKeptName(name, manifest.filename().string())) continue;
    std::error_code ignored;
    kept.emplace_back(it->last_write_time(ignored), manifest.parent_path() / name);
  }
  std::sort(kept.rbegin(), kept.rend());
  std::vector<std::string> paths;
  for (auto& [time, name] : kept) paths.push_back(std::move(name));
  return paths;
}

absl::StatusOr<size_t> RemoveKeptManifests(const std::string& path) {
  const std::vector<std::string> kept = ListKeptManifests(path);
  for (const std::string& manifest : kept) {
    if (unlink(manifest.c_str()) != 0 && errno != ENOENT) return ErrnoToStatus(errno, manifest);
  }
  return kept.size();
}

}  // namespace penstock
