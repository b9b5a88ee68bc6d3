// A dataset of random chess records with its manifest, and what a loader must read from it.
#ifndef PENSTOCK_CLIENT_LOADER_TESTING_CHESS_DATASET_H_
#define PENSTOCK_CLIENT_LOADER_TESTING_CHESS_DATASET_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "client/loader/loader.h"
#include "records/engine/testing/chess_data.h"
#include "tests/temp_folder.h"

namespace penstock {

// Has files of its own, which it removes in the end. Thread-compatible.
class ChessDataset {
 public:
  explicit ChessDataset(const ChessDataOptions& options = {
                            .shards = 3, .chunks_per_shard = 20, .records_per_chunk = 30});

  const std::shared_ptr<const Manifest>& manifest() const { return manifest_; }
  const std::string& folder() const { return folder_.path(); }
  // Returns the options of a loader that reads it, with "local:" and small batches.
  LoaderOptions Options() const;

  // The record numbers of all rows, epoch after epoch, computed without an engine or controller.
  std::vector<uint64_t> Order(const PlanOptions& plan, uint64_t epochs = 1) const;
  // The BatchDigest of these records.
  std::string Digest(const std::vector<uint64_t>& records, WireDtype dtype) const;

 private:
  TempFolder folder_;
  ChessData data_;
  std::shared_ptr<const Manifest> manifest_;  // Shared with the loaders under test.
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_TESTING_CHESS_DATASET_H_
