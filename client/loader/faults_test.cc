// Loaders whose servers fail. The servers are engines in this process, behind transports that
// break.
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/loader/open_with_transports.h"
#include "client/loader/testing/batch_digest.h"
#include "client/loader/testing/chess_dataset.h"
#include "client/loader/testing/faulty_transport.h"
#include "client/transport/local/local_transport.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class LoaderFaultsTest : public ::testing::Test {
 protected:
  LoaderFaultsTest() {
    options_.global_batch_size = 32;
    options_.epochs = 2;
    // A small look-ahead, so that rows are still to be requested when servers fail.
    options_.look_ahead_bytes = 200'000;
    options_.server_timeout = absl::Seconds(60);  // A loaded machine may be slow.
  }

  // Adds a server with these faults. The servers are called a:1, b:1, ...
  void AddServer(Faults faults = {}) {
    EngineOptions engine;
    engine.data_root = data_.folder();
    engine.threads = 1;
    engine.memory_budget = uint64_t{64} << 20;
    const std::string address(1, static_cast<char>('a' + transports_.size()));
    transports_.push_back(std::make_unique<FaultyTransport>(
        address + ":1", MakeLocalTransport(engine).value(), std::move(faults)));
  }
  Loader& Open() {
    loader_ = OpenWithTransports(options_, std::move(transports_)).value();
    return *loader_;
  }
  // Returns the status that ends the loader; OK if it reached its end.
  absl::Status ReadAll() {
    Batch batch;
    while (true) {
      absl::StatusOr<bool> more = loader_->Next(batch);
      if (!more.ok()) return more.status();
      if (!*more) return absl::OkStatus();
      digest_.Add(batch);
    }
  }
  void ExpectEverythingWasRead() {
    EXPECT_EQ(digest_.Hex(), data_.Digest(data_.Order(options_.plan, 2), options_.dtype));
  }

  ChessDataset data_;
  LoaderOptions options_ = data_.Options();
  std::vector<std::unique_ptr<Transport>> transports_;
  std::unique_ptr<Loader> loader_;
  BatchDigest digest_;
};

TEST_F(LoaderFaultsTest, ServersShareTheLanes) {
  for (int i = 0; i < 3; ++i) AddServer();
  Open();
  EXPECT_THAT(ReadAll(), IsOk());
  ExpectEverythingWasRead();
  for (const LoaderStats::Server& server : loader_->stats().servers) EXPECT_GT(server.rows, 0u);
}

TEST_F(LoaderFaultsTest, AServerThatBreaksAgainAndAgainLosesNothing) {
  AddServer({.break_after_parts = 5});
  AddServer();
  Open();
  EXPECT_THAT(ReadAll(), IsOk());
  ExpectEverythingWasRead();
  EXPECT_GT(loader_->stats().servers[0].stream_breaks, 0u);
  EXPECT_GT(loader_->stats().servers[0].lost_requests, 0u);
}

TEST_F(LoaderFaultsTest, TheOnlyServerMayBreak) {
  AddServer({.break_after_parts = 40});
  Open();
  EXPECT_THAT(ReadAll(), IsOk());
  ExpectEverythingWasRead();
  EXPECT_GT(loader_->stats().servers[0].stream_breaks, 0u);
}

TEST_F(LoaderFaultsTest, AServerThatCannotBeReachedIsDoneWithout) {
  AddServer({.refuse = true});
  AddServer();
  Open();
  EXPECT_THAT(ReadAll(), IsOk());
  ExpectEverythingWasRead();
  EXPECT_FALSE(loader_->stats().servers[0].connected);
}

TEST_F(LoaderFaultsTest, WithoutAnyServerEachIsNamedWithItsReason) {
  options_.server_timeout = absl::Milliseconds(500);
  AddServer({.refuse = true});
  AddServer({.refuse = true});
  Open();
  EXPECT_THAT(ReadAll(), StatusIs(absl::StatusCode::kUnavailable,
                                  AllOf(HasSubstr("500ms"), HasSubstr("a:1: connection refused"),
                                        HasSubstr("b:1: connection refused"))));
}

TEST_F(LoaderFaultsTest, AServerThatDecodesOtherwiseIsNotUsed) {
  AddServer();
  AddServer({.disguise = [](ServerInfo& info) { ++info.decoder_version; }});
  Open();
  EXPECT_THAT(ReadAll(), IsOk());
  ExpectEverythingWasRead();
  EXPECT_EQ(loader_->stats().servers[1].rows, 0u);
}

TEST_F(LoaderFaultsTest, APartOfTheWrongSizeNamesTheServer) {
  AddServer({.tamper = [](ReceivedPart& part) { ++part.rows; }});
  Open();
  EXPECT_THAT(ReadAll(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                  AllOf(HasSubstr("a:1: sent"), HasSubstr("bytes"))));
}

TEST_F(LoaderFaultsTest, APartWhoseChecksumDiffersIsAskedForAgain) {
  int parts = 0;
  AddServer({.tamper = [&parts](ReceivedPart& part) {
    part.crc32c = part.payload->Crc32c() ^ (++parts == 3 ? 1u : 0u);
  }});
  AddServer();
  Open();
  EXPECT_THAT(ReadAll(), IsOk());
  ExpectEverythingWasRead();
  EXPECT_EQ(loader_->stats().servers[0].checksum_failures, 1u);
  EXPECT_EQ(loader_->stats().servers[0].stream_breaks, 1u);
}

TEST_F(LoaderFaultsTest, ChecksumsThatNeverHoldEndTheLoaderWithTheServersName) {
  options_.server_timeout = absl::Milliseconds(500);
  AddServer({.tamper = [](ReceivedPart& part) { part.crc32c = ~part.payload->Crc32c(); }});
  Open();
  EXPECT_THAT(ReadAll(), StatusIs(absl::StatusCode::kUnavailable,
                                  AllOf(HasSubstr("checksum mismatch in a part of "),
                                        HasSubstr("rows from a:1: computed"))));
}

TEST_F(LoaderFaultsTest, RowsThatWereNotAskedForNameTheServer) {
  AddServer({.tamper = [](ReceivedPart& part) { part.first_row += 100'000; }});
  Open();
  EXPECT_THAT(ReadAll(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                  AllOf(HasSubstr("a:1: sent rows ["), HasSubstr("100000"))));
}

TEST_F(LoaderFaultsTest, AnswersToUnknownRequestsAreDropped) {
  int parts = 0;
  AddServer({.break_after_parts = 2, .tamper = [&parts](ReceivedPart& part) {
               if (++parts == 1) part.request += uint64_t{1} << 40;
             }});
  AddServer();
  Open();
  EXPECT_THAT(ReadAll(), IsOk());
  ExpectEverythingWasRead();
}

// The server answers twenty times first, so that the loader knows what is late.
TEST_F(LoaderFaultsTest, AServerThatFallsSilentLosesItsWindows) {
  AddServer({.mute_after_parts = 20});
  AddServer();
  Open();
  EXPECT_THAT(ReadAll(), IsOk());
  ExpectEverythingWasRead();
  EXPECT_GT(loader_->stats().servers[0].late_requests, 0u);
  EXPECT_GT(loader_->stats().servers[0].windows_handed_over, 0u);
}

class LoaderDamageTest : public LoaderFaultsTest {
 protected:
  // Flips a byte of the first record of that chunk, after the dataset was indexed.
  void FlipAByteOf(size_t chunk) {
    const ChunkInfo info = data_.manifest()->chunk(chunk);
    shard_ = data_.manifest()->shards()[info.shard].path;
    std::fstream file(data_.folder() + "/" + shard_,
                      std::ios::in | std::ios::out | std::ios::binary);
    constexpr int kIntoPayload = 12 + 40;  // The length and its CRC come first.
    file.seekg(static_cast<std::streamoff>(info.offset + kIntoPayload));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(info.offset + kIntoPayload));
    file.put(static_cast<char>(byte ^ 1));
    ASSERT_TRUE(file.good());
  }
  std::string shard_;
};

TEST_F(LoaderDamageTest, IsNamedWithTheServersThatAgree) {
  FlipAByteOf(17);
  AddServer();
  AddServer();
  Open();
  EXPECT_THAT(ReadAll(),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr(shard_), HasSubstr("record 0 (record 510 of the shard)"),
                             HasSubstr("a:1"), HasSubstr("b:1"), HasSubstr("on_error kReplace"))));
}

TEST_F(LoaderDamageTest, IsNamedByTheOnlyServerToo) {
  FlipAByteOf(17);
  AddServer();
  Open();
  EXPECT_THAT(ReadAll(), StatusIs(absl::StatusCode::kDataLoss,
                                  AllOf(HasSubstr(shard_), HasSubstr("reported it twice"))));
}

TEST_F(LoaderFaultsTest, MayBeDestroyedWhileServersBreak) {
  for (int batches = 0; batches < 20; ++batches) {
    AddServer({.break_after_parts = 30});
    AddServer({.break_after_parts = 40});
    Open();
    Batch batch;
    for (int i = 0; i < batches; ++i) ASSERT_THAT(loader_->Next(batch), IsOk());
    batch = Batch();
    loader_ = nullptr;
    transports_.clear();
  }
}

}  // namespace
}  // namespace penstock
