// A hidden folder that holds finished shards until all shards are finished.
#ifndef PENSTOCK_CLI_PACK_SHARD_STAGING_H_
#define PENSTOCK_CLI_PACK_SHARD_STAGING_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/io/unique_fd.h"

namespace penstock {

// The hidden folder FOLDER/.NAME.partial, which no program mistakes for data. It has the finished
// shards of a run under their final names, notes about them, and the run's key. Once all shards are
// finished and are moved to FOLDER, it also has a mark for that. Thread-compatible.
class ShardStaging {
 public:
  // Locks the folder for this run. Keeps the files that a run with the same `key` left there, and
  // removes everything else in it. If the key is empty, nothing is kept, and the destructor removes
  // the folder. kUnavailable: another run has locked it.
  static absl::StatusOr<ShardStaging> Open(const std::string& folder, const std::string& name,
                                           const std::string& key);
  // Whether a run, with any key, was stopped while it moved its shards to FOLDER.
  static bool StoppedWhilePlacing(const std::string& folder, const std::string& name);

  ShardStaging(ShardStaging&& other) = default;
  ~ShardStaging();

  // Returns the path of `file` in the folder.
  std::string PathOf(const std::string& file) const { return folder_ + "/" + file; }

  // Call this when all shards are finished. From here on they are moved to FOLDER, even by a later
  // run.
  absl::Status BeginPlacing();
  bool placing() const { return placing_; }

  // Whether Open() removed files that a run with another key had left.
  bool discarded() const { return discarded_; }

  // Removes the folder at the end of the run.
  absl::Status Remove();

 private:
  ShardStaging(std::string folder, UniqueFd key_file, bool keep)
      : folder_(std::move(folder)), key_file_(std::move(key_file)), keep_(keep) {}
  absl::Status TakeOver(const std::string& key);
  absl::Status RemoveAllBut(const std::string& file) const;

  std::string folder_;
  UniqueFd key_file_;  // The locked file; invalid after a move or removal.
  bool keep_;
  bool placing_ = false;
  bool discarded_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_PACK_SHARD_STAGING_H_
