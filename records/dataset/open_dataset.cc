#include "records/dataset/open_dataset.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "records/base/status.h"
#include "records/dataset/list_shards.h"
#include "records/io/file_source.h"

namespace penstock {
namespace {

// Whether `manifest` lists exactly `files`, as they are now.
bool IsUpToDate(const Manifest& manifest, const std::vector<std::string>& files) {
  if (manifest.shards().size() != files.size()) return false;
  for (size_t i = 0; i < files.size(); ++i) {
    const ShardInfo& shard = manifest.shards()[i];
    absl::StatusOr<std::string> path = PathBeneath(manifest.base_dir(), files[i]);
    absl::StatusOr<std::unique_ptr<FileSource>> source = FileSource::Open(files[i]);
    if (!path.ok() || !source.ok() || shard.absolute || shard.path != *path) return false;
    if ((*source)->identity() != FileIdentity{shard.size, shard.modified_ns}) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<OpenedDataset> OpenDataset(const std::string& path, IndexOptions options) {
  if (!std::filesystem::is_directory(path)) {
    PENSTOCK_ASSIGN_OR_RETURN(Manifest manifest, Manifest::Load(path));
    return OpenedDataset{std::move(manifest), path, false};
  }
  absl::string_view folder = path;
  while (folder.size() > 1 && absl::ConsumeSuffix(&folder, "/")) {
  }
  options.output = absl::StrCat(folder, "/", kManifestName);
  options.update = true;
  if (std::filesystem::exists(options.output)) {
    PENSTOCK_ASSIGN_OR_RETURN(Manifest manifest, Manifest::Load(options.output));
    PENSTOCK_ASSIGN_OR_RETURN(std::vector<std::string> files, ListShards({&path, 1}));
    if (IsUpToDate(manifest, files)) {
      return OpenedDataset{std::move(manifest), options.output, false};
    }
  }
  PENSTOCK_ASSIGN_OR_RETURN(IndexResult result, BuildIndex({path}, options));
  return OpenedDataset{std::move(result.manifest), options.output, true};
}

}  // namespace penstock
