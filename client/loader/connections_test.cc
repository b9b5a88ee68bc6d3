// A server over several connections. The servers are engines that claim to be one server.
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
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

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ConnectionsTest : public ::testing::Test {
 protected:
  ConnectionsTest() {
    options_.global_batch_size = 32;
    options_.epochs = 2;
    options_.look_ahead_bytes = 200'000;
    options_.server_timeout = absl::Seconds(60);  // A loaded machine may be slow.
  }

  void AddConnection(Faults faults) {
    EngineOptions engine;
    engine.data_root = data_.folder();
    engine.threads = 1;
    engine.memory_budget = uint64_t{64} << 20;
    ways_.push_back(std::make_unique<FaultyTransport>("a:1", MakeLocalTransport(engine).value(),
                                                      std::move(faults)));
  }
  // Adds a connection to a server that claims to be server `instance`, and counts its Hellos.
  void AddWay(uint64_t instance, Faults faults = {}) {
    faults.disguise = [this, instance](ServerInfo& info) {
      info.instance = instance;
      ++hellos_;
    };
    AddConnection(std::move(faults));
  }
  // A transport that considers a further connection at every request.
  std::unique_ptr<Transport> Growing(uint64_t bytes_per_second) {
    BundleGrowth growth;
    growth.bytes_per_second = bytes_per_second;
    growth.now = [now = BundleGrowth::Clock::time_point()]() mutable {
      return now += std::chrono::seconds(1);
    };
    return MakeGrowingTransport(std::move(ways_), std::move(growth));
  }
  absl::Status ReadAll() { return ReadAll(MakeBundleTransport(std::move(ways_))); }
  absl::Status ReadAll(std::unique_ptr<Transport> server) {
    std::vector<std::unique_ptr<Transport>> servers;
    servers.push_back(std::move(server));
    options_.report = [this](absl::string_view line) { reports_.emplace_back(line); };
    auto loader = OpenWithTransports(options_, std::move(servers)).value();
    Batch batch;
    while (true) {
      absl::StatusOr<bool> more = loader->Next(batch);
      server_ = loader->stats().servers[0];
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
  LoaderStats::Server server_;
  std::vector<std::string> reports_;  // Complete when ReadAll() has returned.
  std::atomic<int> hellos_ = 0;
};

TEST_F(ConnectionsTest, ThreeBringWhatOneWould) {
  for (int i = 0; i < 3; ++i) AddConnection({.disguise = BeServerSeven});
  EXPECT_THAT(ReadAll(), IsOk());
  ExpectEverythingWasRead();
  EXPECT_EQ(server_.stream_breaks, 0);
}

TEST_F(ConnectionsTest, OneThatBreaksEndsThemAllAndNothingIsLost) {
  AddConnection({.disguise = BeServerSeven});
  AddConnection({.break_after_parts = 5, .disguise = BeServerSeven});
  EXPECT_THAT(ReadAll(), IsOk());
  ExpectEverythingWasRead();
  EXPECT_GT(server_.stream_breaks, 0);
}

// The server restarts without shared memory, and a further connection is possible then.
TEST_F(ConnectionsTest, WhatIsToldOfItsWaysIsOfTheLastStream) {
  AddConnection({.break_after_parts = 50, .add = [this](StreamEvents& events) {
                   if (hellos_++ > 0) return;
                   events.OnEvent(SharedMemoryResult{absl::OkStatus()});
                   events.OnEvent(
                       ConnectionGivenUp{absl::UnavailableError("a:1: no more of them")});
                 }});
  EXPECT_THAT(ReadAll(std::move(ways_[0])), IsOk());
  EXPECT_GT(server_.stream_breaks, 0);
  EXPECT_THAT(reports_, Contains(HasSubstr("no more of them")));
  EXPECT_EQ(server_.shared_memory, "");
  EXPECT_EQ(server_.no_further_connection, "");
}

TEST_F(ConnectionsTest, WhoIsToldMayAskForMore) {
  AddConnection({.add = [](StreamEvents& events) {
    events.OnEvent(ConnectionGivenUp{absl::UnavailableError("a:1: no more of them")});
  }});
  std::atomic<Loader*> told = nullptr;
  std::atomic<uint64_t> slots = 0;
  options_.report = [&](absl::string_view) {
    while (told == nullptr) std::this_thread::yield();
    slots = told.load()->stats().slots;
  };
  auto loader = OpenWithTransports(options_, std::move(ways_)).value();
  told = loader.get();
  Batch batch;
  while (loader->Next(batch).value()) {
  }
  batch = Batch();
  loader.reset();
  EXPECT_GT(slots, 0u);
}

TEST_F(ConnectionsTest, ToDifferentServersAreRefused) {
  for (int i = 0; i < 2; ++i) AddConnection({});
  EXPECT_THAT(ReadAll(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("a:1: its connections reach different server processes")));
}

TEST_F(ConnectionsTest, MoreAreTakenWhileThoseInUseAreSaturated) {
  for (int i = 0; i < 3; ++i) AddWay(7);
  EXPECT_THAT(ReadAll(Growing(0)), IsOk());
  ExpectEverythingWasRead();
  EXPECT_EQ(hellos_, 3);
  EXPECT_EQ(server_.stream_breaks, 0);
}

TEST_F(ConnectionsTest, OneIsEnoughForWhatItCarries) {
  for (int i = 0; i < 3; ++i) AddWay(7);
  EXPECT_THAT(ReadAll(Growing(uint64_t{1} << 50)), IsOk());
  ExpectEverythingWasRead();
  EXPECT_EQ(hellos_, 1);
}

TEST_F(ConnectionsTest, AFurtherOneThatReachesAnotherServerIsLeftAlone) {
  AddWay(7);
  AddWay(8);
  AddWay(7);
  EXPECT_THAT(ReadAll(Growing(0)), IsOk());
  ExpectEverythingWasRead();
  EXPECT_EQ(hellos_, 2);
  EXPECT_EQ(server_.stream_breaks, 0);
  EXPECT_EQ(server_.no_further_connection, "it reached another server process");
  EXPECT_THAT(reports_,
              ElementsAre("a:1: no further connection could be opened (it reached another "
                          "server process); continuing with those that are open"));
}

// A server that sends its Hello and then announces that it drains.
class DrainingWay final : public Transport {
 public:
  DrainingWay(uint64_t instance, std::atomic<int>& open) : instance_(instance), open_(open) {}
  const std::string& address() const override { return address_; }
  std::unique_ptr<Stream> Connect(const StreamOptions&, StreamEvents& events) override {
    ServerInfo info;
    info.instance = instance_;
    events.OnEvent(info);
    events.OnEvent(Draining{1000});
    return std::make_unique<SilentStream>(open_);
  }

 private:
  class SilentStream final : public Stream {
   public:
    explicit SilentStream(std::atomic<int>& open) : open_(open) { ++open_; }
    ~SilentStream() override { --open_; }
    void OpenWindow(const struct OpenWindow&) override {}
    void Fetch(const struct Fetch&) override {}
    void Cancel(uint64_t) override {}
    void Release(uint64_t) override {}

   private:
    std::atomic<int>& open_;
  };

  const std::string address_ = "a:1";
  const uint64_t instance_;
  std::atomic<int>& open_;
};

class CountingEvents final : public StreamEvents {
 public:
  void OnEvent(StreamEvent event) override {
    hellos += std::holds_alternative<ServerInfo>(event);
    drainings += std::holds_alternative<Draining>(event);
  }
  void OnPart(ReceivedPart) override {}

  int hellos = 0;
  int drainings = 0;
};

TEST_F(ConnectionsTest, AnotherServersDrainingIsNotTheirs) {
  std::atomic<int> open = 0;
  ways_.push_back(std::make_unique<DrainingWay>(7, open));
  ways_.push_back(std::make_unique<DrainingWay>(8, open));
  CountingEvents events;
  std::unique_ptr<Transport> transport = Growing(0);
  std::unique_ptr<Stream> stream = transport->Connect({}, events);
  transport.reset();  // A stream may outlive its transport, as in a link probe.
  EXPECT_EQ(events.drainings, 1);
  stream->Fetch({.request = 1, .window = 1});
  EXPECT_EQ(open, 2);
  stream->Fetch({.request = 2, .window = 1});
  while (open > 1) std::this_thread::yield();  // Waits until the other server's stream is closed.
  EXPECT_EQ(events.hellos, 1);
  EXPECT_EQ(events.drainings, 1);
  stream->Cancel(1);
  stream.reset();
  EXPECT_EQ(open, 0);
}

TEST_F(ConnectionsTest, AFurtherOneThatIsRefusedIsLeftAlone) {
  AddWay(7);
  AddWay(7, {.refuse = true});
  EXPECT_THAT(ReadAll(Growing(0)), IsOk());
  ExpectEverythingWasRead();
  EXPECT_EQ(hellos_, 1);
  EXPECT_EQ(server_.stream_breaks, 0);
  EXPECT_THAT(reports_, ElementsAre(HasSubstr("a:1: no further connection could be opened (")));
}

TEST_F(ConnectionsTest, AFurtherOneThatBreaksInUseEndsThemAllAndNothingIsLost) {
  AddWay(7);
  AddWay(7, {.break_after_parts = 1});
  EXPECT_THAT(ReadAll(Growing(0)), IsOk());
  ExpectEverythingWasRead();
  EXPECT_GT(server_.stream_breaks, 0);
}

}  // namespace
}  // namespace penstock
