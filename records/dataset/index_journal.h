// What an index run has finished, so that an interrupted one continues where it was.
#ifndef PENSTOCK_RECORDS_DATASET_INDEX_JOURNAL_H_
#define PENSTOCK_RECORDS_DATASET_INDEX_JOURNAL_H_

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/io/unique_fd.h"
#include "records/dataset/manifest.h"

namespace penstock {

// The hidden file ".NAME.partial" beside the manifest NAME: a TFRecord file of sections, each a
// run's key, which stands for its options, and then one manifest for each shard that it finished,
// and the path of each that it found damaged.
// A torn end, from a killed process, is cut off. Thread-compatible.
class IndexJournal {
 public:
  // How keys begin, and manifests do not.
  static constexpr absl::string_view kKeyStart = "penstock index ";

  // How the records of damaged shards begin; the path follows.
  static constexpr absl::string_view kDamagedStart = "penstock damaged ";

  // Opens the journal of the manifest at `manifest_path`, for this run alone. While another run has
  // it, on_wait() is called every 100 ms, and what it returns but OK is the result. Without
  // on_wait: kUnavailable at once.
  static absl::StatusOr<IndexJournal> Open(const std::string& manifest_path,
                                           const std::function<absl::Status()>& on_wait);

  // Takes what earlier runs with any of these keys have finished; this run's is the first of them.
  // Once, before what follows here.
  absl::Status Begin(std::span<const std::string> keys);

  // The finished shards, by path as in the manifest.
  const std::map<std::string, Manifest>& finished() const { return finished_; }

  // The shards, by path, that a run of whatever key found damaged, and none behind it whole.
  const std::set<std::string>& damaged() const { return damaged_; }

  // Adds a manifest of one shard.
  absl::Status Append(const Manifest& shard);
  // Adds the path, as in the manifest, of a damaged shard.
  absl::Status AppendDamaged(const std::string& path);

  // Removes the file: there is nothing left to go on with.
  void Remove();

 private:
  IndexJournal(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  // Takes the whole records of `bytes` that fit; returns where they end, and the last section's
  // key.
  std::pair<size_t, std::string> Take(std::span<const uint8_t> bytes,
                                      std::span<const std::string> keys);
  absl::Status AppendRecord(const std::string& payload);

  UniqueFd fd_;
  std::string path_;
  std::map<std::string, Manifest> finished_;
  std::set<std::string> damaged_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_INDEX_JOURNAL_H_
