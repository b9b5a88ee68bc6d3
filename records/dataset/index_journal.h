// What an index run has finished, so that an interrupted one continues where it was.
#ifndef PENSTOCK_RECORDS_DATASET_INDEX_JOURNAL_H_
#define PENSTOCK_RECORDS_DATASET_INDEX_JOURNAL_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "records/dataset/manifest.h"
#include "records/io/unique_fd.h"

namespace penstock {

// The hidden file ".NAME.partial" beside the manifest NAME: a TFRecord file of the options' key and
// then one manifest for each finished shard. A torn end, from a killed process, is cut off.
// Thread-compatible.
class IndexJournal {
 public:
  // Opens or begins the journal of the manifest at `manifest_path`; one of another key starts anew.
  // kUnavailable: another run holds it.
  static absl::StatusOr<IndexJournal> Open(const std::string& manifest_path,
                                           const std::string& key);

  // The finished shards, by path as in the manifest.
  const std::map<std::string, Manifest>& finished() const { return finished_; }

  // Adds a manifest of one shard.
  absl::Status Append(const Manifest& shard);

  // Removes the file: the run has come to its end.
  void Remove();

 private:
  IndexJournal(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  absl::Status Recover(const std::string& key);
  absl::Status AppendRecord(const std::string& payload);

  UniqueFd fd_;
  std::string path_;
  std::map<std::string, Manifest> finished_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_INDEX_JOURNAL_H_
