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

// Each function may be empty.
struct ListOptions {
  // Which files in folders are shards, by their names: a pattern of fnmatch(3), such as "*.bin".
  // Empty: files *.tfrec*, as in "a.tfrecord" and "a.tfrecord-00000-of-00004.gz"; of a folder that
  // has none *.tar; of one that has none of those either part-00000, part-r-00000 and so on.
  std::string glob = {};
  // Called for each file and folder: a listing of 10^5 of them takes seconds. A status other than
  // OK ends the listing with it.
  std::function<absl::Status()> check;
  // Called for a folder lost+found that may not be read. Each ext4 volume has one at its root,
  // which only the administrator reads and which is no part of the data.
  std::function<void(const std::string& folder)> skipped;

  absl::Status Check() const { return check ? check() : absl::OkStatus(); }
};

// Replaces each path of a folder by the shards beneath it, sorted by path, without hidden files;
// the path of a file stays. kNotFound: a path is not there, or a folder has no shards.
// kPermissionDenied: a folder beneath, other than lost+found, may not be read. kInvalidArgument: a
// file is there twice, a link leads to a folder above it, or there are no paths.
absl::StatusOr<std::vector<std::string>> ListShards(std::span<const std::string> paths,
                                                    const ListOptions& options = {});

// Whether a file of this name is a shard of some folder for ListShards() without a glob.
bool IsShardName(absl::string_view path);

// Whether the path ends as those of images do: .jpg, .jpeg or .png, in any case of letters.
bool IsImageName(absl::string_view path);

// Whether the folder at `path` is a link to one of the folders that it lies in. A listing would
// visit the files beneath it again, as often as the kernel follows links.
bool LeadsToItself(const std::string& path);

// Returns `file` relative to `folder`; both are absolute or relative to the working folder.
// kInvalidArgument: the file does not lie beneath the folder.
absl::StatusOr<std::string> PathBeneath(const std::string& folder, const std::string& file);

// Makes the path absolute, without "." and "..", and without a slash at the end. Empty if the path
// is relative to a working folder that is gone; then it cannot be opened either.
std::string NormalPath(const std::string& path);

// Returns the folder part of a file's path, "." if it has none.
std::string FolderOfFile(const std::string& path);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_LIST_SHARDS_H_
