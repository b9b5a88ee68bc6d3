// A folder of shards, and its index.
#ifndef PENSTOCK_RECORDS_DATASET_TESTING_INDEXER_FIXTURE_H_
#define PENSTOCK_RECORDS_DATASET_TESTING_INDEXER_FIXTURE_H_

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "records/dataset/indexer.h"
#include "records/format/testing/shard_builder.h"
#include "tests/temp_folder.h"

namespace penstock {

class IndexerTest : public ::testing::Test {
 protected:
  IndexerTest() { options_.output = folder_.File("manifest.pb"); }

  void WriteShards(int count) {
    for (int i = 0; i < count; ++i) {
      folder_.Write(absl::StrCat("s", i, ".tfrecord"), ChessShard(100, i * 100).text());
    }
  }
  absl::StatusOr<IndexResult> Index() { return BuildIndex({folder_.path()}, options_); }

  TempFolder folder_;
  IndexOptions options_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_TESTING_INDEXER_FIXTURE_H_
