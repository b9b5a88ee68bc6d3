// A server over several connections, here engines that say that they are one server.
#include <utility>
#include <vector>

#include "client/loader/open_with_transports.h"
#include "client/loader/testing/batch_digest.h"
#include "client/loader/testing/chess_dataset.h"
#include "client/loader/testing/faulty_transport.h"
#include "client/transport/bundle/bundle_transport.h"
#include "client/transport/local/local_transport.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

class ConnectionsTest : public ::testing::Test {
 protected:
  ConnectionsTest() {
    options_.global_batch_size = 32;
    options_.epochs = 2;
    options_.look_ahead_bytes = 200'000;
    options_.server_timeout = absl::Seconds(60);  // A loaded machine may take long.
  }

  void AddConnection(Faults faults) {
    EngineOptions engine;
    engine.data_root = data_.folder();
    engine.threads = 1;
    engine.memory_budget = uint64_t{64} << 20;
    ways_.push_back(std::make_unique<FaultyTransport>("a:1", MakeLocalTransport(engine).value(),
                                                      std::move(faults)));
  }
  absl::Status ReadAll() {
    std::vector<std::unique_ptr<Transport>> servers;
    servers.push_back(MakeBundleTransport(std::move(ways_)));
    auto loader = OpenWithTransports(options_, std::move(servers)).value();
    Batch batch;
    while (true) {
      absl::StatusOr<bool> more = loader->Next(batch);
      breaks_ = loader->stats().servers[0].stream_breaks;
      if (!more.ok()) return more.status();
      if (!*more) return absl::OkStatus();
      digest_.Add(batch);
    }
  }
  void ExpectEverythingWasRead() {
    EXPECT_EQ(digest_.Hex(), data_.Digest(data_.Order(options_.plan, 2), options_.dtype));
  }

  static void BeServerSeven(ServerInfo& info) { info.instance = 7; }

  ChessDataset data_;
  LoaderOptions options_ = data_.Options();
  std::vector<std::unique_ptr<Transport>> ways_;
  BatchDigest digest_;
  uint64_t breaks_ = 0;
};

TEST_F(ConnectionsTest, ThreeBringWhatOneWould) {
  for (int i = 0; i < 3; ++i) AddConnection({.disguise = BeServerSeven});
  EXPECT_THAT(ReadAll(), IsOk());
  ExpectEverythingWasRead();
  EXPECT_EQ(breaks_, 0);
}

TEST_F(ConnectionsTest, OneThatBreaksEndsThemAllAndNothingIsLost) {
  AddConnection({.disguise = BeServerSeven});
  AddConnection({.break_after_parts = 5, .disguise = BeServerSeven});
  EXPECT_THAT(ReadAll(), IsOk());
  ExpectEverythingWasRead();
  EXPECT_GT(breaks_, 0);
}

TEST_F(ConnectionsTest, ToDifferentServersAreRefused) {
  for (int i = 0; i < 2; ++i) AddConnection({});
  EXPECT_THAT(ReadAll(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                  HasSubstr("a:1: its connections reach different servers")));
}

}  // namespace
}  // namespace penstock
