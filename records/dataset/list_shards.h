// Lists the files of a dataset, and names their paths.
#ifndef PENSTOCK_RECORDS_DATASET_LIST_SHARDS_H_
#define PENSTOCK_RECORDS_DATASET_LIST_SHARDS_H_

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

// The name of the manifest in a folder. A file of this name is no shard.
inline constexpr char kManifestName[] = "manifest.pb";

// Returns the path of the manifest that a path on servers means. If it is empty or ends in "/",
// that is the one of a folder.
std::string ServedManifestPath(absl::string_view path);

// Any of the functions may be empty.
struct ListOptions {
  // Which files in folders are shards: a pattern of fnmatch(3) for their names, such as "*.bin". If
  // it is empty, the shards of a folder are its files *.tfrec*, such as "a.tfrecord" and
  // "a.tfrecord-00000-of-00004.gz". If there are none, they are its files *.tar; and if there are
  // none of those, its files part-00000, part-r-00000 and so on.
  std::string glob = {};
  // Called for each file and folder, because listing 10^5 of them takes seconds. An error ends the
  // listing.
  std::function<absl::Status()> check;
  // Called for each folder lost+found that cannot be read. Every ext4 volume has one at its root.
  // Only the administrator can read it, and it is not part of the data.
  std::function<void(const std::string& folder)> skipped;

  absl::Status Check() const { return check ? check() : absl::OkStatus(); }
};

// Replaces each folder in `paths` by the shards beneath it, sorted by path, without hidden files.
// Paths of files are kept.
// kNotFound: a path does not exist, or a folder has no shards.
// kPermissionDenied: a folder beneath, other than lost+found, cannot be read.
// kInvalidArgument: a file appears twice, a link leads to a folder above it, or `paths` is empty.
absl::StatusOr<std::vector<std::string>> ListShards(std::span<const std::string> paths,
                                                    const ListOptions& options = {});

// Whether ListShards(), without a glob, would take a file of this name for a shard in some folder.
bool IsShardName(absl::string_view path);

// Whether the path ends like that of an image: .jpg, .jpeg or .png, in any case.
bool IsImageName(absl::string_view path);

// Whether the folder at `path` is a link to one of the folders that contain it. A listing would
// visit the files beneath it again, as often as the kernel follows links.
bool LeadsToItself(const std::string& path);

// Returns `file` relative to `folder`. Both are absolute, or relative to the working folder.
// kInvalidArgument: the file is not beneath the folder.
absl::StatusOr<std::string> PathBeneath(const std::string& folder, const std::string& file);

// Makes the path absolute, without "." and "..", and without a final slash. Returns an empty string
// if the path is relative to a working folder that no longer exists; it then cannot be opened
// either.
std::string NormalPath(const std::string& path);

// Returns the folder part of a file's path, or "." if it has none.
std::string FolderOfFile(const std::string& path);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_LIST_SHARDS_H_
