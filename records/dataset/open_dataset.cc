#include "records/dataset/open_dataset.h"

#include <filesystem>
#include <memory>
#include <set>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/io/file_source.h"
#include "base/status.h"

namespace penstock {
namespace {

// Says how the shards that `manifest` lists differ from `files`, or returns an empty string. The
// order of the manifest may differ, and so may times, because a copy of the data has other times.
absl::StatusOr<std::string> Difference(const Manifest& manifest,
                                       const std::vector<std::string>& files,
                                       const ListOptions& callbacks) {
  std::set<std::string> listed;
  for (size_t i = 0; i < manifest.shards().size(); ++i) {
    PENSTOCK_RETURN_IF_ERROR(callbacks.Check());
    const std::string path = manifest.ShardPath(i);
    std::error_code error;
    const uint64_t size = std::filesystem::file_size(path, error),
                   expected = manifest.shards()[i].size;
    if (error) return absl::StrCat("it lists ", path, ": ", error.message());
    if (size != expected) {
      return absl::StrCat(path, " has ", size, " bytes, but the manifest says ", expected);
    }
    listed.insert(NormalPath(path));
  }
  for (const std::string& file : files) {
    if (!listed.contains(NormalPath(file))) return absl::StrCat("it does not list ", file);
  }
  return "";
}

// The manifest is not updated here. Somebody may have left shards out of it on purpose, or have
// cursors of its order, and would lose that.
absl::StatusOr<OpenedDataset> LoadOfFolder(const std::string& folder, const IndexOptions& options) {
  const std::string& path = options.output;
  PENSTOCK_ASSIGN_OR_RETURN(Manifest manifest, Manifest::Load(path));
  absl::StatusOr<std::vector<std::string>> files = ListShards({&folder, 1}, options.listing);
  if (absl::IsNotFound(files.status())) files.emplace();  // The listed shards have other names.
  PENSTOCK_RETURN_IF_ERROR(files.status());
  PENSTOCK_ASSIGN_OR_RETURN(const std::string difference,
                            Difference(manifest, *files, options.listing));
  if (difference.empty()) return OpenedDataset{std::move(manifest), path, false};
  return absl::FailedPreconditionError(
      absl::StrCat(path, ": does not match its folder: ", difference,
                   ". To update it, which changes the order, run penstock index --update ", folder,
                   ". To use it unchanged, give ", path, " instead of the folder"));
}

// Whether the name is that of a table or of arrays, from which `penstock pack` makes shards.
bool IsTableName(absl::string_view name) {
  if (!absl::ConsumeSuffix(&name, ".gz")) absl::ConsumeSuffix(&name, ".zst");
  for (const absl::string_view ending : {".csv", ".jsonl", ".npy", ".npz", ".tsv"}) {
    if (absl::EndsWithIgnoreCase(name, ending)) return true;
  }
  return false;
}

absl::StatusOr<OpenedDataset> LoadOfFile(const std::string& path) {
  absl::StatusOr<Manifest> manifest = Manifest::Load(path);
  if (manifest.ok()) return OpenedDataset{*std::move(manifest), path, false};
  // A file that cannot be opened, such as a pipe, is no shard either.
  const bool opens = FileSource::Open(path).ok();
  if (!absl::IsInvalidArgument(manifest.status()) || !opens) return manifest.status();
  const std::string folder = FolderOfFile(path);
  if (IsTableName(path)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is not a dataset; make one of it with penstock pack ", path,
                     " -o DIR, and use DIR"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": is not a Penstock manifest; if it is a shard, give its folder ", folder,
                   ", or index it alone: penstock index ", path, " -o ", folder, "/NAME.pb"));
}

}  // namespace

absl::StatusOr<OpenedDataset> OpenDataset(const std::string& path, IndexOptions options) {
  std::error_code ignored;  // If this fails, reading fails too and says why.
  if (!std::filesystem::is_directory(path, ignored)) {
    return LoadOfFile(path);
  }
  absl::string_view folder = path;
  while (folder.size() > 1 && absl::ConsumeSuffix(&folder, "/")) {
  }
  options.output = absl::StrCat(folder, "/", kManifestName);
  options.keep = true;
  if (!options.on_wait) options.on_wait = [] { return absl::OkStatus(); };
  if (std::filesystem::exists(options.output, ignored)) return LoadOfFolder(path, options);
  absl::StatusOr<IndexResult> result = BuildIndex({path}, options);
  if (absl::IsAlreadyExists(result.status())) return LoadOfFolder(path, options);
  PENSTOCK_RETURN_IF_ERROR(result.status());
  return OpenedDataset{std::move(result->manifest), options.output, true};
}

}  // namespace penstock
