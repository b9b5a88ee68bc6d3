// Records what an index run has finished, so that an interrupted run can be resumed.
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

// The hidden file ".NAME.partial" beside the manifest NAME. It is a TFRecord file of sections. A
// section begins with the key of a run, which stands for its options. Then follow one manifest for
// each shard that the run finished, and the path of each shard that it found damaged.
// A torn end, left by a killed process, is cut off. Thread-compatible.
class IndexJournal {
 public:
  // Keys begin with this, and manifests do not.
  static constexpr absl::string_view kKeyStart = "penstock index ";

  // Records of damaged shards begin with this; the path follows.
  static constexpr absl::string_view kDamagedStart = "penstock damaged ";

  // Opens the journal of the manifest at `manifest_path` and locks it for this run. While another
  // run holds it, calls on_wait() every 100 ms; if that returns an error, Open() returns it. If
  // on_wait is empty, returns kUnavailable at once.
  static absl::StatusOr<IndexJournal> Open(const std::string& manifest_path,
                                           const std::function<absl::Status()>& on_wait);

  // Collects what earlier runs with any of these keys have finished. The first key is that of this
  // run. Call it once, before the methods below.
  absl::Status Begin(std::span<const std::string> keys);

  // The finished shards, by their path in the manifest.
  const std::map<std::string, Manifest>& finished() const { return finished_; }

  // The shards, by path, that a run with any key found damaged, and that no later run found intact.
  const std::set<std::string>& damaged() const { return damaged_; }

  // Adds a manifest of one shard.
  absl::Status Append(const Manifest& shard);
  // Adds the path, as in the manifest, of a damaged shard.
  absl::Status AppendDamaged(const std::string& path);

  // Removes the file, because there is nothing left to resume.
  void Remove();

 private:
  IndexJournal(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  // Reads the complete records of `bytes`, and keeps the shards of sections that have one of
  // `keys`. Returns where the records end, and the key of the last section.
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
