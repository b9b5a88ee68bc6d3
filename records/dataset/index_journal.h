// What an index run has finished, so that an interrupted one continues where it was.
#ifndef PENSTOCK_RECORDS_DATASET_INDEX_JOURNAL_H_
#define PENSTOCK_RECORDS_DATASET_INDEX_JOURNAL_H_

#include <functional>
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
  // Opens the journal of the manifest at `manifest_path`, for this run alone. While another run has
  // it, on_wait() is called every 100 ms, and what it returns but OK is the result. Without
  // on_wait: kUnavailable at once.
  static absl::StatusOr<IndexJournal> Open(const std::string& manifest_path,
                                           const std::function<absl::Status()>& on_wait);

  // Goes on with what an interrupted run with the same key has finished, or begins anew. Once,
  // before what follows here.
  absl::Status Begin(const std::string& key);

  // The finished shards, by path as in the manifest.
  const std::map<std::string, Manifest>& finished() const { return finished_; }

  // Adds a manifest of one shard.
  absl::Status Append(const Manifest& shard);

  // Removes the file: the run has come to its end.
  void Remove();

 private:
  IndexJournal(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  absl::Status AppendRecord(const std::string& payload);

  UniqueFd fd_;
  std::string path_;
  std::map<std::string, Manifest> finished_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_INDEX_JOURNAL_H_
