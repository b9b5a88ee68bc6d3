// Which files a dataset consists of.
#ifndef PENSTOCK_RECORDS_DATASET_LIST_SHARDS_H_
#define PENSTOCK_RECORDS_DATASET_LIST_SHARDS_H_

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

// May be empty.
struct ListCallbacks {
  // Called for each file and folder, which takes seconds for 10^5 of them. A status other than OK
  // ends the listing with it.
  std::function<absl::Status()> check;
  // A folder lost+found that may not be read: each ext4 volume has one at its root, of the
  // administrator's alone, and it is no part of the data.
  std::function<void(const std::string& folder)> skipped;

  absl::Status Check() const { return check ? check() : absl::OkStatus(); }
};

// Each path that is a folder becomes the files *.tfrecord* beneath it, sorted by path, without
// hidden ones; each that is a file stays.
// kNotFound: a path that is not there, a folder without shards. kPermissionDenied: a folder beneath
// may not be read, lost+found excepted. kInvalidArgument: the same file twice, or no paths.
absl::StatusOr<std::vector<std::string>> ListShards(std::span<const std::string> paths,
                                                    const ListCallbacks& callbacks = {});

// Whether ListShards() takes a file of this name for a shard.
bool IsShardName(absl::string_view path);

// Whether the file is called as images are: *.jpg, *.jpeg or *.png, or in capital letters.
bool IsImageName(absl::string_view path);

// Whether the folder at `path` is one of those that it lies in, as a link can be: what is beneath
// it would be listed again, as often as the kernel follows links.
bool LeadsToItself(const std::string& path);

// `file` as a path relative to `folder`, both relative to the working folder or absolute.
// kInvalidArgument: it does not lie beneath.
absl::StatusOr<std::string> PathBeneath(const std::string& folder, const std::string& file);

// Absolute, without "." and "..", without a slash at the end. Empty where it is relative to a
// working folder that is gone: then it cannot be opened either.
std::string NormalPath(const std::string& path);

// The folder part of a file's path, "." if it has none.
std::string FolderOfFile(const std::string& path);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_LIST_SHARDS_H_
