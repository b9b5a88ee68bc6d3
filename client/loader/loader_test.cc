#include "client/loader/loader.h"

#include <numeric>
#include <thread>

#include "absl/time/clock.h"
#include "base/counter_rng.h"
#include "client/loader/loader_plan.h"
#include "client/loader/loader_shape.h"
#include "client/loader/testing/batch_digest.h"
#include "client/loader/testing/chess_dataset.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/dataset/indexer.h"
#include "records/dataset/kept_manifests.h"
#include "records/decode/spec.h"
#include "tests/recorded_spans.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Lt;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAreArray;

// Everything that a loader handed out until its end.
struct Read {
  std::string digest;
  std::vector<uint64_t> records;
  std::vector<Cursor> cursors;
  std::vector<size_t> batch_rows;
};

Read ReadAll(Loader& loader) {
  Read read;
  BatchDigest digest;
  Batch batch;
  while (true) {
    absl::StatusOr<bool> more = loader.Next(batch);
    EXPECT_THAT(more, IsOk());
    if (!more.ok() || !*more) break;
    digest.Add(batch);
    read.records.insert(read.records.end(), batch.record_ids().begin(), batch.record_ids().end());
    read.cursors.push_back(batch.cursor());
    read.batch_rows.push_back(batch.rows());
  }
  read.digest = digest.Hex();
  return read;
}

Read ReadAll(LoaderOptions options) {
  options.record_ids = true;
  absl::StatusOr<std::unique_ptr<Loader>> loader = Loader::Open(std::move(options));
  EXPECT_THAT(loader, IsOk());
  return loader.ok() ? ReadAll(**loader) : Read();
}

absl::Status OpenStatus(LoaderOptions options) { return Loader::Open(std::move(options)).status(); }

class LoaderTest : public ::testing::Test {
 protected:
  ChessDataset data_;
  LoaderOptions options_ = data_.Options();
};

TEST_F(LoaderTest, ReadsWhatThePlanSaysInEveryDtype) {
  const std::vector<uint64_t> expected = data_.Order(options_.plan);
  ASSERT_EQ(expected.size(), 1800u);
  for (WireDtype dtype :
       {WireDtype::kPacked, WireDtype::kI8, WireDtype::kBf16, WireDtype::kF32, WireDtype::kF64}) {
    options_.dtype = dtype;
    const Read read = ReadAll(options_);
    EXPECT_THAT(read.records, ElementsAreArray(expected));
    EXPECT_EQ(read.digest, data_.Digest(expected, dtype)) << WireDtypeName(dtype);
  }
}

TEST_F(LoaderTest, ThreadsTellWhatTheyDo) {
  RecordedSpans spans;
  options_.spans = &spans;
  options_.local_threads = 1;
  options_.look_ahead_bytes = 1 << 10;
  EXPECT_THAT(ReadAll(options_).records, ElementsAreArray(data_.Order(options_.plan)));
  // The thread that makes room for a request sends it.
  std::set<std::string> all = spans.Of("loader");
  all.merge(spans.Of("engine thread 0"));
  EXPECT_THAT(all, IsSupersetOf({"open window", "request", "deliver"}));
  EXPECT_THAT(spans.Of("loader"), Contains("schedule"));
  EXPECT_THAT(spans.Of("engine thread 0"),
              IsSupersetOf({"read chunk", "decode piece", "fill slots"}));
  EXPECT_TRUE(spans.in_order());
}

TEST_F(LoaderTest, ThreadsTellNothingWhileNobodyWantsToKnow) {
  RecordedSpans spans;
  spans.set_active(false);
  options_.spans = &spans;
  EXPECT_THAT(ReadAll(options_).records, SizeIs(1800));
  EXPECT_TRUE(spans.empty());
}

TEST_F(LoaderTest, EpochsFollowOneAnotherEachInItsOwnOrder) {
  options_.epochs = 3;
  EXPECT_THAT(ReadAll(options_).records, ElementsAreArray(data_.Order(options_.plan, 3)));
}

TEST_F(LoaderTest, WithoutShufflingReadsInFileOrder) {
  options_.plan.shuffle = false;
  const Read read = ReadAll(options_);
  ASSERT_EQ(read.records.size(), 1800u);
  for (uint64_t i = 0; i < 1800; ++i) ASSERT_EQ(read.records[i], i);
}

TEST_F(LoaderTest, TheOrderDoesNotDependOnHowItIsRead) {
  const std::string digest = ReadAll(options_).digest;
  for (uint64_t rows : {1, 7, 64, 500, 1800}) {
    for (uint64_t look_ahead : {1 << 10, 1 << 18, 1 << 24}) {
      options_.global_batch_size = rows;
      options_.look_ahead_bytes = look_ahead;
      options_.local_threads = 1 + rows % 3;
      EXPECT_EQ(ReadAll(options_).digest, digest) << rows << " rows, " << look_ahead;
    }
  }
}

TEST_F(LoaderTest, RanksTogetherReadWhatOneRankReads) {
  const std::vector<uint64_t> expected = data_.Order(options_.plan);
  for (uint32_t ranks : {2, 3, 5}) {
    std::vector<std::vector<uint64_t>> read;
    std::vector<std::vector<size_t>> batch_rows;
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      options_.rank = rank;
      options_.world_size = ranks;
      Read part = ReadAll(options_);
      read.push_back(part.records);
      batch_rows.push_back(part.batch_rows);
    }
    std::vector<uint64_t> together;
    std::vector<size_t> taken(ranks);
    for (size_t step = 0; step < batch_rows[0].size(); ++step) {
      for (uint32_t rank = 0; rank < ranks; ++rank) {
        for (size_t i = 0; i < batch_rows[rank][step]; ++i) {
          together.push_back(read[rank][taken[rank]++]);
        }
      }
    }
    EXPECT_THAT(together, ElementsAreArray(expected)) << ranks << " ranks";
  }
}

TEST_F(LoaderTest, ContinuesAfterAnyCursor) {
  options_.epochs = 2;
  options_.remainder = Remainder::kCarry;
  const Read whole = ReadAll(options_);
  CounterRng rng(5);
  for (int i = 0; i < 8; ++i) {
    const size_t consumed = rng.Below(whole.cursors.size());
    options_.start = whole.cursors[consumed];
    const Read rest = ReadAll(options_);
    const size_t first = (consumed + 1) * options_.global_batch_size;
    ASSERT_EQ(rest.records.size() + std::min<size_t>(first, 3600), 3600u);
    EXPECT_TRUE(std::equal(rest.records.begin(), rest.records.end(),
                           whole.records.end() - static_cast<ptrdiff_t>(rest.records.size())));
  }
}

TEST_F(LoaderTest, AResumedLoaderCountsTheStepsOfTheRun) {
  options_.epochs = 2;
  Batch batch;
  std::vector<Cursor> cursors;
  const auto loader = Loader::Open(options_).value();
  while (loader->Next(batch).value()) {
    EXPECT_EQ(batch.global_step(), batch.step());
    cursors.push_back(batch.cursor());
  }
  options_.start = cursors[40];
  const auto resumed = Loader::Open(options_).value();
  for (uint64_t step = 0; resumed->Next(batch).value(); ++step) {
    EXPECT_EQ(batch.step(), step);
    EXPECT_EQ(batch.global_step(), 41 + step);
  }
}

TEST_F(LoaderTest, AnEvaluationReadsEveryRowByDefault) {
  options_.remainder = std::nullopt;
  options_.global_batch_size = 256;
  EXPECT_EQ(ReadAll(options_).records.size(), 1800u - 1800 % 256);
  const ChessDataset data({.shards = 1, .holdout_threshold = uint32_t{1} << 31});
  options_ = data.Options();
  options_.plan.split = Split::kHoldout;
  options_.remainder = std::nullopt;
  EXPECT_EQ(ReadAll(options_).records.size(), data.manifest()->num_records(Split::kHoldout));
}

TEST_F(LoaderTest, OpensAPathWithTheSpecOfItsRecords) {
  LoaderOptions options = options_;
  options.manifest = nullptr;
  std::vector<uint64_t> all(1800);
  std::iota(all.begin(), all.end(), 0);
  options.spec = DecodeSpec();
  options.record_ids = true;
  for (const char* name : {"", "/manifest.pb"}) {
    ASSERT_OK_AND_ASSIGN(const auto loader, Loader::Open(data_.folder() + name, options));
    EXPECT_THAT(ReadAll(*loader).records, UnorderedElementsAreArray(all));
  }
  EXPECT_THAT(Loader::Open(data_.folder() + "/nothing", options).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/nothing")));
  options.spec = DecodeSpec::Parse("tensor { name: 's' number { feature: 'x' count: 1 } }").value();
  EXPECT_THAT(Loader::Open(data_.folder(), options).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'x'")));
}

TEST_F(LoaderTest, SplitsPartTheRecords) {
  ChessDataset data({.shards = 2,
                     .chunks_per_shard = 10,
                     .records_per_chunk = 40,
                     .holdout_threshold = uint32_t{1} << 30});
  options_ = data.Options();
  std::vector<uint64_t> both;
  for (Split split : {Split::kTrain, Split::kHoldout}) {
    options_.plan.split = split;
    const Read read = ReadAll(options_);
    EXPECT_THAT(read.records, ElementsAreArray(data.Order(options_.plan)));
    both.insert(both.end(), read.records.begin(), read.records.end());
  }
  std::sort(both.begin(), both.end());
  ASSERT_EQ(both.size(), 800u);
  for (uint64_t i = 0; i < 800; ++i) ASSERT_EQ(both[i], i);
}

TEST_F(LoaderTest, StopsAfterMaxSteps) {
  options_.max_steps = 3;
  EXPECT_EQ(ReadAll(options_).records.size(), 3 * 64u);
}

TEST_F(LoaderTest, BatchesNameTheirTensors) {
  options_.dtype = WireDtype::kF32;
  auto loader = Loader::Open(options_).value();
  Batch batch;
  ASSERT_THAT(loader->Next(batch), IsOkAndHolds(true));
  EXPECT_EQ(batch.rows(), 64u);
  ASSERT_NE(batch.tensor("planes"), nullptr);
  EXPECT_EQ(batch.tensor("planes")->bytes.size(), 64u * 8 * 8 * 24 * 4);
  EXPECT_THAT(batch.tensor("planes")->shape, ::testing::ElementsAre(8, 8, 24));
  EXPECT_EQ(batch.tensor("nothing"), nullptr);
  EXPECT_THAT(batch.Values<float>("score"), IsOkAndHolds(SizeIs(64)));
  EXPECT_EQ(batch.Values<float>("score")->data(), batch.tensor("score")->as<float>().data());
  EXPECT_THAT(batch.Values<float>("scores"),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("'scores'"), HasSubstr("planes, flags, score"))));
  EXPECT_THAT(batch.Values<int8_t>("score"), StatusIs(absl::StatusCode::kInvalidArgument,
                                                      HasSubstr("'score' has elements of type f32, "
                                                                "not i8")));
  EXPECT_TRUE(batch.record_ids().empty());
  for (const TensorView& tensor : batch.tensors()) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.bytes.data()) % 64, 0u);
  }
}

TEST_F(LoaderTest, HeldBatchesKeepTheirRows) {
  auto loader = Loader::Open(options_).value();
  std::vector<Batch> held(3);
  for (Batch& batch : held) ASSERT_THAT(loader->Next(batch), IsOkAndHolds(true));
  BatchDigest digest;
  for (const Batch& batch : held) digest.Add(batch);
  std::vector<uint64_t> expected = data_.Order(options_.plan);
  expected.resize(3 * 64);
  EXPECT_EQ(digest.Hex(), data_.Digest(expected, options_.dtype));
}

TEST_F(LoaderTest, MayBeDestroyedAtAnyBatch) {
  for (int batches = 0; batches < 12; ++batches) {
    auto loader = Loader::Open(options_).value();
    Batch batch;
    for (int i = 0; i < batches; ++i) ASSERT_THAT(loader->Next(batch), IsOkAndHolds(true));
    batch = Batch();
  }
}

TEST_F(LoaderTest, CloseEndsABlockedNext) {
  options_.look_ahead_bytes = 1;
  options_.epochs = 0;
  auto loader = Loader::Open(options_).value();
  std::vector<Batch> held(2);
  for (Batch& batch : held) ASSERT_THAT(loader->Next(batch), IsOkAndHolds(true));
  // Both slots are held, so only Close() can end the next call.
  std::jthread closer([&] { loader->Close(); });
  Batch batch;
  EXPECT_THAT(loader->Next(batch), StatusIs(absl::StatusCode::kCancelled, HasSubstr("closed")));
  EXPECT_THAT(loader->Next(batch), StatusIs(absl::StatusCode::kCancelled, HasSubstr("closed")));
}

TEST_F(LoaderTest, FillsNoSlotThatIsReleasedAfterClose) {
  LoaderOptions options = data_.Options();
  options.look_ahead_bytes = 1;  // This leaves two slots.
  ASSERT_OK_AND_ASSIGN(const auto loader, Loader::Open(options));
  std::vector<Batch> held(loader->stats().slots);
  for (Batch& batch : held) ASSERT_TRUE(loader->Next(batch).value());
  const std::span<const uint8_t> rows = held.front().tensors().front().bytes;
  const std::vector<uint8_t> before(rows.begin(), rows.end());
  loader->Close();
  held.clear();
  loader->NoteWaiting(2);
  absl::SleepFor(absl::Milliseconds(100));  // In this time a free slot would have been filled.
  EXPECT_THAT(rows, ElementsAreArray(before));
}

TEST_F(LoaderTest, CountsWhatItReads) {
  auto loader = Loader::Open(options_).value();
  const Read read = ReadAll(*loader);
  const LoaderStats stats = loader->stats();
  EXPECT_EQ(stats.rows, 1800u);
  EXPECT_EQ(stats.batches, read.batch_rows.size());
  EXPECT_EQ(stats.bytes, 1800u * 1550);
  ASSERT_EQ(stats.servers.size(), 1u);
  EXPECT_EQ(stats.servers[0].address, "local:");
  EXPECT_EQ(stats.servers[0].rows, 1800u);
  EXPECT_EQ(stats.servers[0].stream_breaks, 0u);
  EXPECT_GT(stats.servers[0].windows, 0u);
}

TEST_F(LoaderTest, KeepsToTheLookAhead) {
  options_.look_ahead_bytes = 300'000;
  // 64 rows have 1,550 bytes each, and each tensor is rounded up to 64 bytes: 3 slots fit.
  EXPECT_EQ(Loader::Open(options_).value()->stats().slots, 3u);
  options_.look_ahead_bytes = 1;
  EXPECT_EQ(Loader::Open(options_).value()->stats().slots, 2u);
}

class CountingAllocator final : public SlotAllocator {
 public:
  absl::StatusOr<uint8_t*> Allocate(size_t bytes) override {
    ++allocations;
    if (empty) return absl::ResourceExhaustedError("no pinned memory");
    ++live;
    return static_cast<uint8_t*>(std::aligned_alloc(64, bytes));
  }
  void Free(uint8_t* memory, size_t) override {
    --live;
    std::free(memory);
  }
  int allocations = 0;
  int live = 0;
  bool empty = false;
};

TEST_F(LoaderTest, IsReadyOnceABatchIsThereAndOnceItIsClosed) {
  absl::StatusOr<std::unique_ptr<Loader>> loader = Loader::Open(options_);
  ASSERT_THAT(loader, IsOk());
  const absl::Time deadline = absl::Now() + absl::Seconds(60);
  while (!(*loader)->Ready() && absl::Now() < deadline) absl::SleepFor(absl::Milliseconds(1));
  Batch batch;
  EXPECT_TRUE((*loader)->Ready());
  EXPECT_THAT((*loader)->Next(batch), IsOkAndHolds(true));
  (*loader)->Close();
  EXPECT_TRUE((*loader)->Ready());
}

TEST_F(LoaderTest, TakeHandsOutTheSameAndClaimsNoWait) {
  ASSERT_OK_AND_ASSIGN(const auto loader, Loader::Open(data_.Options()));
  BatchDigest digest;
  Batch batch;
  while (loader->Take(batch).value()) {
    digest.Add(batch);
    loader->NoteWaiting(batch.step() + 1);
  }
  EXPECT_EQ(digest.Hex(), ReadAll(data_.Options()).digest);
  const LoaderStats stats = loader->stats();
  EXPECT_EQ(stats.wait, absl::ZeroDuration());
  EXPECT_EQ(stats.batches, batch.step() + loader->steps_left());
}

TEST_F(LoaderTest, NamesNoServerOnceEverythingIsFetched) {
  ASSERT_OK_AND_ASSIGN(const auto loader, Loader::Open(data_.Options()));
  Batch batch;
  EXPECT_THAT(loader->Next(batch), IsOkAndHolds(true));
  EXPECT_EQ(loader->stats().servers.size(), 1u);
  while (loader->Next(batch).value()) continue;
  const LoaderStats stats = loader->stats();
  EXPECT_FALSE(stats.servers[0].named);
  uint64_t waits = 0;
  for (const uint64_t count : stats.waits.counts()) waits += count;
  EXPECT_EQ(waits, stats.batches + 1);  // The last call found the end.
}

TEST_F(LoaderTest, ItsShapeIsKnownBeforeItIsOpened) {
  LoaderOptions options = data_.Options();
  options.record_ids = true;
  ASSERT_OK_AND_ASSIGN(const LoaderShape shape, DescribeLoader(options));
  ASSERT_OK_AND_ASSIGN(const auto loader, Loader::Open(options));
  EXPECT_EQ(shape.slots, loader->stats().slots);
  EXPECT_EQ(shape.slot_bytes, loader->stats().slot_bytes);
  EXPECT_EQ(shape.order_fingerprint, loader->order_fingerprint());
  EXPECT_EQ(shape.steps.steps_per_epoch(), loader->steps_per_epoch());
  Batch batch;
  ASSERT_TRUE(loader->Next(batch).value());
  const uint8_t* slot = batch.tensors().front().bytes.data();
  ASSERT_EQ(batch.tensors().size(), shape.offsets.size());
  for (size_t i = 0; i < shape.offsets.size(); ++i) {
    EXPECT_EQ(batch.tensors()[i].bytes.data(), slot + shape.offsets[i]);
  }
  EXPECT_EQ(reinterpret_cast<const uint8_t*>(batch.record_ids().data()),
            slot + *shape.record_ids_offset);
}

TEST_F(LoaderTest, TakesSlotsFromTheCallersAllocator) {
  CountingAllocator allocator;
  options_.slot_allocator = &allocator;
  ReadAll(options_);
  EXPECT_EQ(allocator.allocations, 1);
  EXPECT_EQ(allocator.live, 0);
}

TEST_F(LoaderTest, ReportsAnAllocatorThatFails) {
  CountingAllocator allocator;
  allocator.empty = true;
  options_.slot_allocator = &allocator;
  EXPECT_THAT(OpenStatus(options_),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr(" batches of "), HasSubstr("no pinned memory"))));
  EXPECT_EQ(allocator.live, 0);
}

TEST_F(LoaderTest, RefusesAWrongDataRoot) {
  options_.data_root = "/nowhere/at/all";
  EXPECT_THAT(OpenStatus(options_),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/nowhere/at/all")));
}

TEST_F(LoaderTest, LocalReadsNoAbsolutePathUnlessItIsToldTo) {
  IndexOptions index;
  index.absolute = true;
  index.output = data_.folder() + "/absolute.pb";
  ASSERT_OK_AND_ASSIGN(IndexResult indexed, BuildIndex({data_.folder()}, index));
  const Read expected = ReadAll(options_);
  options_.manifest = std::make_shared<const Manifest>(std::move(indexed.manifest));
  EXPECT_THAT(OpenStatus(options_),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       AllOf(HasSubstr("local: the path of shard '" + data_.folder()),
                             HasSubstr("is absolute"), HasSubstr("give data_root /"))));
  options_.data_root = "/";
  EXPECT_EQ(ReadAll(options_).records.size(), expected.records.size());
}

TEST_F(LoaderTest, LocalReadsNothingOutsideOfItsRoot) {
  for (const bool absolute : {false, true}) {
    ManifestBuilder builder;
    builder.AddShard({.path = "sub/../../outside.tfrecord"});
    builder.AddChunk({.size = 1'000'000, .records = 10'000});
    if (absolute) builder.AddShard({.path = "/a/../b.tfrecord", .absolute = true});
    ASSERT_OK_AND_ASSIGN(Manifest manifest, builder.Build());
    manifest.set_base_dir(data_.folder());
    options_.manifest = std::make_shared<const Manifest>(std::move(manifest));
    options_.data_root = absolute ? "/" : "";
    ASSERT_OK_AND_ASSIGN(auto loader, Loader::Open(options_));
    Batch batch;
    EXPECT_THAT(loader->Next(batch),
                StatusIs(absl::StatusCode::kPermissionDenied,
                         AllOf(HasSubstr("outside.tfrecord"), HasSubstr("'..'"))));
  }
}

TEST_F(LoaderTest, NamesAShardThatIsMissing) {
  const ChessDataset other({.shards = 1});
  options_.data_root = other.folder();
  auto loader = Loader::Open(options_).value();
  Batch batch;
  absl::StatusOr<bool> more = true;
  while (more.ok() && *more) more = loader->Next(batch);
  EXPECT_FALSE(more.ok());
  EXPECT_THAT(std::string(more.status().message()),
              AllOf(HasSubstr("local: shard '"), HasSubstr("tfrecord")));
  EXPECT_EQ(loader->Next(batch).status(), more.status());
  loader->Close();
  EXPECT_EQ(loader->Next(batch).status(), more.status());
}

TEST_F(LoaderTest, ABatchThatHoldsNothingIsZeros) {
  auto loader = Loader::Open(options_).value();
  Batch batch;
  while (loader->Next(batch).value()) {
  }
  EXPECT_EQ(batch.rows(), 0u);
  EXPECT_EQ(batch.step() + batch.epoch() + batch.position() + batch.first_row(), 0u);
  EXPECT_EQ(batch.global_rows(), 0u);
  EXPECT_EQ(batch.cursor(), Cursor());
  EXPECT_TRUE(batch.tensors().empty() && batch.record_ids().empty());
}

TEST_F(LoaderTest, NamesTheFolderThatHasNoShards) {
  const TempFolder empty;
  options_.data_root = empty.path();
  auto loader = Loader::Open(options_).value();
  Batch batch;
  EXPECT_THAT(loader->Next(batch),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("local: shard '"), HasSubstr(" in " + empty.path() + "; "),
                             HasSubstr("relative to data_root"))));
}

TEST_F(LoaderTest, RefusesWrongOptions) {
  LoaderOptions bad = options_;
  bad.manifest = nullptr;
  EXPECT_THAT(OpenStatus(bad), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("manifest")));
  bad = options_;
  bad.spec = DecodeSpec();
  EXPECT_THAT(OpenStatus(bad),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("DecodeSpec::Load")));
  bad = options_;
  bad.global_batch_size = 2;
  bad.world_size = 3;
  EXPECT_THAT(OpenStatus(bad), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("3 ranks")));
  bad = options_;
  bad.global_batch_size = 2000;
  bad.remainder = Remainder::kDrop;
  EXPECT_THAT(OpenStatus(bad),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no full step")));
  bad = options_;
  bad.plan.split = Split::kHoldout;
  EXPECT_THAT(OpenStatus(bad),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("holdout")));
}

TEST_F(LoaderTest, RefusesACursorOfAnotherOrder) {
  const Read read = ReadAll(options_);
  options_.plan.seed = 8;
  options_.start = read.cursors[0];
  EXPECT_THAT(OpenStatus(options_),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr(read.cursors[0].ToString()), HasSubstr("another order"))));
}

// penstock index --update changes the order of a training that began before it.
TEST_F(LoaderTest, ACursorFindsTheManifestThatAnUpdateReplaced) {
  const std::string path = data_.folder() + "/updated.pb";
  ASSERT_OK(options_.manifest->Save(path));
  const Read before = ReadAll(options_);
  const auto old = options_.manifest;
  ASSERT_OK(KeepManifest(path, old->content_fingerprint()));
  ManifestBuilder builder;
  builder.AddShard(old->shards()[0]);
  builder.AddChunk({.size = 100, .records = 1});
  options_.manifest = std::make_shared<const Manifest>(*builder.Build());
  std::vector<std::string> lines;
  options_.report = [&](absl::string_view line) { lines.emplace_back(line); };
  EXPECT_EQ(ManifestOfCursor(path, options_), options_.manifest);
  options_.start = before.cursors[2];
  const auto found = ManifestOfCursor(path, options_);
  EXPECT_EQ(found->content_fingerprint(), old->content_fingerprint());
  EXPECT_EQ(found->base_dir(), data_.folder());
  EXPECT_THAT(lines, ElementsAre(HasSubstr("resuming with " + path + ".")));
  options_.start->order_fingerprint ^= 1;
  EXPECT_EQ(ManifestOfCursor(path, options_), options_.manifest);
}

TEST_F(LoaderTest, RefusesWhatIsNoServer) {
  for (absl::string_view servers : {"", "local", "host", "host:", "host:0", "host:99999", ":7070",
                                    "a:1,,b:2", "a:1,a:1", "local:,a:1", "a:1,local:"}) {
    options_.servers = std::string(servers);
    EXPECT_THAT(OpenStatus(options_),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("servers")))
        << servers;
  }
}

// Each window needs a spare, but this is reported only once in 10 s.
TEST_F(LoaderTest, WhereNoRecordCanBeDecodedTheSpecIsToBlame) {
  ASSERT_OK_AND_ASSIGN(
      options_.spec,
      ParseSpec("tensor { name: 'x' image { feature: 'd' resize { height: 8 width: 8 } } }",
                "test"));
  options_.on_error = OnError::kReplace;
  std::vector<std::string> reports;
  options_.report = [&reports](absl::string_view report) { reports.emplace_back(report); };
  ASSERT_OK_AND_ASSIGN(auto loader, Loader::Open(options_));
  Batch batch;
  EXPECT_THAT(
      loader->Next(batch),
      StatusIs(
          absl::StatusCode::kDataLoss,
          AllOf(HasSubstr("the decode spec (LoaderOptions::spec) does not fit these records: "),
                HasSubstr("(local: "), HasSubstr("No bytes are damaged"),
                Not(HasSubstr("--exclude-corrupt")))));
  loader.reset();
  EXPECT_THAT(reports, Contains(HasSubstr("replaces all rows of the window")).Times(Lt(4)));
}

TEST_F(LoaderTest, TheFirstRecordsThatCannotBeDecodedAreNamed) {
  ASSERT_OK_AND_ASSIGN(
      options_.spec,
      ParseSpec("tensor { name: 's' number { feature: 's' count: 1 as: BF16 } }", "test"));
  options_.on_error = OnError::kReplace;
  std::vector<std::string> reports;
  options_.report = [&reports](absl::string_view report) { reports.emplace_back(report); };
  ASSERT_OK_AND_ASSIGN(auto loader, Loader::Open(options_));
  ReadAll(*loader);
  EXPECT_GT(loader->stats().undecodable_rows, 8u);
  loader.reset();
  EXPECT_THAT(reports,
              Contains(HasSubstr("replaced a record that cannot be decoded")).Times(Ge(8)));
  EXPECT_THAT(reports, Contains(HasSubstr("; further ones are counted")));
}

// The row would be no smaller on another server, or at a later time.
TEST_F(LoaderTest, ARowThatNoServerSendsIsRefusedBeforeAnyIsAsked) {
  options_.dtype = WireDtype::kF64;
  v1::DecodeSpec spec = options_.spec.message();
  spec.add_tensor()->set_name("large");
  v1::Bits& bits = *spec.mutable_tensor()->rbegin()->mutable_bits();
  bits.set_feature("e");
  bits.set_feature_bytes(1 << 16);
  bits.add_dims(1 << 19);
  options_.spec = spec;
  EXPECT_THAT(OpenStatus(options_), StatusIs(absl::StatusCode::kResourceExhausted,
                                             AllOf(HasSubstr("as f64 one row has"),
                                                   HasSubstr("tensor is 'large', f64 [524288]"))));
}

}  // namespace
}  // namespace penstock
