// Counts calls of operator new, and is therefore a separate program.
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/bytes_of.h"
#include "gtest/gtest.h"
#include "records/container/testing/tar_builder.h"
#include "records/container/webdataset.h"
#include "tests/count_allocations.h"

namespace penstock {
namespace {

// Cuts all records and returns their number.
uint64_t CountRecords(std::span<const uint8_t> shard, RecordCutter& cutter) {
  for (uint64_t records = 0;; ++records) {
    const auto cut = cutter.Next(shard, /*at_end=*/true);
    if (!cut.ok()) std::abort();
    if (cut->what == RecordCutter::Cut::What::kEnd) return records;
    shard = shard.subspan(cut->size);
  }
}

TEST(ContainerAllocationTest, TakesNoMemoryOnceTheLargestSampleWasSeen) {
  TarBuilder archive;
  for (size_t i = 0; i < 100; ++i) {
    const std::string key = absl::StrCat("folder/", std::string(i, 'k'), i);
    archive.Pax(PaxText("path", key + ".jpg")).File("x", std::string(1000 * i, 'x'));
    archive.LongName(key + ".seg.png")
        .File("x", "y")
        .File(absl::StrCat(key, ".cls").substr(0, 100), "7");
  }
  const std::string& shard = archive.End().bytes();
  const std::unique_ptr<RecordCutter> cutter = NewWebDatasetCutter();
  const uint64_t records = CountRecords(BytesOf(shard), *cutter);
  EXPECT_GE(records, 100u);
  const uint64_t before = allocations;
  EXPECT_EQ(CountRecords(BytesOf(shard), *cutter), records);
  EXPECT_EQ(allocations, before);
}

}  // namespace
}  // namespace penstock
