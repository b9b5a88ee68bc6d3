// A hidden folder in which finished shards wait for the others.
#ifndef PENSTOCK_CLI_PACK_SHARD_STAGING_H_
#define PENSTOCK_CLI_PACK_SHARD_STAGING_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/io/unique_fd.h"

namespace penstock {

// The hidden folder FOLDER/.NAME.partial, which no program takes for a part of the data. It has the
// finished shards of a run under their final names, notes about them, the run's key, and, once all
// shards are finished and get their places in FOLDER, a mark of that. Thread-compatible.
class ShardStaging {
 public:
  // Takes the folder for this run alone. What a run with the same `key` left there stays; all else
  // in it is removed. With an empty key nothing stays, and the destructor leaves nothing.
  // kUnavailable: another run has it.
  static absl::StatusOr<ShardStaging> Open(const std::string& folder, const std::string& name,
                                           const std::string& key);
  // Whether a run that gave its shards their places was stopped at that, whatever its key.
  static bool StoppedWhilePlacing(const std::string& folder, const std::string& name);

  ShardStaging(ShardStaging&& other) = default;
  ~ShardStaging();

  // The path of `file` in the folder.
  std::string PathOf(const std::string& file) const { return folder_ + "/" + file; }

  // All shards are finished: they get their places from here on, whatever happens.
  absl::Status BeginPlacing();
  bool placing() const { return placing_; }

  // Whether Open() removed what a run with another key had left.
  bool discarded() const { return discarded_; }

  // The run is done. Removes the folder.
  absl::Status Remove();

 private:
  ShardStaging(std::string folder, UniqueFd key_file, bool keep)
      : folder_(std::move(folder)), key_file_(std::move(key_file)), keep_(keep) {}
  absl::Status TakeOver(const std::string& key);
  absl::Status RemoveAllBut(const std::string& file) const;

  std::string folder_;
  UniqueFd key_file_;  // Locked. Invalid: moved from, or removed.
  bool keep_;
  bool placing_ = false;
  bool discarded_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_PACK_SHARD_STAGING_H_
