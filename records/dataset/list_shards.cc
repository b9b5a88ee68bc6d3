#include "records/dataset/list_shards.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

bool IsUnreadableLostAndFound(const fs::path& folder) {
  if (folder.filename() != "lost+found") return false;
  std::error_code error;
  const fs::directory_iterator entries(folder, error);
  return error == std::errc::permission_denied;
}

// Kinds of files by name. The shards of a folder are its files of the first of these kinds that it
// has.
enum class NameKind : uint8_t { kTfRecord, kTar, kPart, kOther };
constexpr size_t kNumShardKinds = static_cast<size_t>(NameKind::kOther);

// Matches part-00000 and part-r-00000, with or without an extension for compression.
bool IsPartName(absl::string_view name) {
  if (!absl::ConsumePrefix(&name, "part-")) return false;
  absl::ConsumePrefix(&name, "r-");
  for (const absl::string_view end : {".gz", ".zst"}) absl::ConsumeSuffix(&name, end);
  return name.size() == 5 && std::all_of(name.begin(), name.end(), absl::ascii_isdigit);
}

NameKind NameKindOf(absl::string_view path, const std::string& glob) {
  const absl::string_view name = path.substr(path.rfind('/') + 1);
  if (absl::StartsWith(name, ".")) return NameKind::kOther;
  if (name == kManifestName) return NameKind::kOther;  // Even if it matches the glob, such as "*".
  if (!glob.empty()) {
    const bool matches = fnmatch(glob.c_str(), std::string(name).c_str(), 0) == 0;
    return matches ? NameKind::kTfRecord : NameKind::kOther;
  }
  if (absl::StrContains(name, ".tfrec")) return NameKind::kTfRecord;
  if (absl::EndsWith(name, ".tar")) return NameKind::kTar;
  return IsPartName(name) ? NameKind::kPart : NameKind::kOther;
}

// `other` is a file in the folder, an image if there is one. It is empty if the folder has no
// files.
absl::Status NoShards(const std::string& folder, const std::string& glob,
                      const std::string& other) {
  std::string text =
      absl::StrCat(folder, ": has no files ", glob.empty() ? "*.tfrecord* or *.tar" : glob);
  if (IsImageName(other)) {
    absl::StrAppend(
        &text, " but images, such as ", other, ": penstock index ", folder,
        " --format image-folder reads them where they are, penstock pack --from folder ", folder,
        " -o OUT makes shards of them");
  } else if (!other.empty()) {
    absl::StrAppend(&text, " but others, such as ", other,
                    ": penstock index --glob 'PATTERN' takes shards of other names");
  }
  return absl::NotFoundError(text);
}

absl::Status ListFolder(const std::string& folder, const ListOptions& options,
                        std::vector<std::string>& out) {
  std::error_code error;
  std::array<std::vector<std::string>, kNumShardKinds> shards;  // Indexed by NameKind.
  std::string entered = folder;  // The last folder that was entered or tried.
  std::string other;             // A file that is no shard.
  fs::recursive_directory_iterator it(folder, fs::directory_options::follow_directory_symlink,
                                      error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    PENSTOCK_RETURN_IF_ERROR(options.Check());
    if (it->is_directory(error)) {
      if (it->path().filename().string()[0] == '.') {
        it.disable_recursion_pending();
        continue;
      }
      if (IsUnreadableLostAndFound(it->path())) {
        it.disable_recursion_pending();
        if (options.skipped) options.skipped(it->path().string());
        continue;
      }
      entered = it->path().string();
      if (it->is_symlink(error) && LeadsToItself(it->path().string())) {
        return absl::InvalidArgumentError(
            absl::StrCat(entered,
                         ": is a link to a folder that contains it, so its shards would be "
                         "read again and again; remove the link"));
      }
    } else if (const NameKind kind = NameKindOf(it->path().string(), options.glob);
               kind != NameKind::kOther) {
      shards[static_cast<size_t>(kind)].push_back(it->path().string());
    } else if (other.empty() || (!IsImageName(other) && IsImageName(it->path().string()))) {
      other = it->path().string();
    }
  }
  if (error) return ErrnoToStatus(error.value(), entered);
  const auto best = std::ranges::find_if(shards, [](const auto& files) { return !files.empty(); });
  if (best == shards.end()) return NoShards(folder, options.glob, other);
  std::sort(best->begin(), best->end());
  out.insert(out.end(), best->begin(), best->end());
  return absl::OkStatus();
}

// Refuses two names of one file, also through links, because its records would be read twice.
absl::Status CheckDistinct(const std::vector<std::string>& paths, const ListOptions& options) {
  std::map<std::string, const std::string*> by_place;
  for (const std::string& path : paths) {
    PENSTOCK_RETURN_IF_ERROR(options.Check());
    std::error_code error;
    const fs::path place = fs::canonical(path, error);
    const auto [known, is_new] = by_place.emplace(error ? NormalPath(path) : place.string(), &path);
    if (is_new) continue;
    return absl::InvalidArgumentError(
        NormalPath(*known->second) == NormalPath(path)
            ? absl::StrCat(path, ": is named twice")
            : absl::StrCat(path, ": is the same file as ", *known->second,
                           ", so its records would be read twice; name one of them"));
  }
  return absl::OkStatus();
}

}  // namespace

std::string ServedManifestPath(absl::string_view path) {
  const bool folder = path.empty() || absl::EndsWith(path, "/");
  return absl::StrCat(path, folder ? kManifestName : "");
}

bool LeadsToItself(const std::string& path) {
  std::error_code error;
  const fs::path place = fs::canonical(path, error);
  if (error) return false;
  // Different paths may name the same place, so canonical paths are compared.
  for (fs::path above = path; above.has_relative_path();) {
    above = above.parent_path();
    std::error_code unknown;
    if (fs::canonical(above.empty() ? fs::path(".") : above, unknown) == place && !unknown) {
      return true;
    }
  }
  return false;
}

bool IsImageName(absl::string_view path) {
  constexpr absl::string_view kEnds[] = {".jpg", ".jpeg", ".png"};
  return std::any_of(std::begin(kEnds), std::end(kEnds),
                     [&](absl::string_view end) { return absl::EndsWithIgnoreCase(path, end); });
}

bool IsShardName(absl::string_view path) { return NameKindOf(path, "") != NameKind::kOther; }

std::string NormalPath(const std::string& path) {
  std::error_code ignored;
  const fs::path normal = fs::absolute(path, ignored).lexically_normal();
  return (normal.has_filename() ? normal : normal.parent_path()).string();
}

absl::StatusOr<std::vector<std::string>> ListShards(std::span<const std::string> paths,
                                                    const ListOptions& options) {
  if (paths.empty()) return absl::InvalidArgumentError("no folder and no files to index");
  std::vector<std::string> out;
  for (const std::string& path : paths) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status)) return absl::NotFoundError(absl::StrCat(path, ": does not exist"));
    if (fs::is_directory(status)) {
      PENSTOCK_RETURN_IF_ERROR(ListFolder(path, options, out));
    } else {
      out.push_back(path);
    }
  }
  PENSTOCK_RETURN_IF_ERROR(CheckDistinct(out, options));
  return out;
}

absl::StatusOr<std::string> PathBeneath(const std::string& folder, const std::string& file) {
  const std::string relative =
      fs::path(NormalPath(file)).lexically_relative(NormalPath(folder)).generic_string();
  if (!relative.empty() && relative != "." && relative != ".." &&
      !absl::StartsWith(relative, "../")) {
    return relative;
  }
  const std::string named = NormalPath(folder);  // Empty if the current folder is gone.
  return absl::InvalidArgumentError(
      absl::StrCat(file, ": is outside ", named.empty() ? folder : named,
                   ", the folder of the manifest; write the manifest to a folder above the shards "
                   "(-o), or use --absolute"));
}

std::string FolderOfFile(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, std::max<size_t>(slash, 1));
}

}  // namespace penstock
