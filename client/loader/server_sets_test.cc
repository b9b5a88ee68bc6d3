// Loaders whose servers come and go. The servers are engines in this process, and the test controls
// the source.
#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
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

// The set that a test reports, and the number of times that the source was asked to look again.
// Must outlive its source. Thread-safe.
class Told {
 public:
  void Tell(std::vector<std::string> addresses, absl::Status problem = absl::OkStatus(),
            bool complete = true) {
    MutexLock lock(&mutex_);
    set_ = {std::move(addresses), std::move(problem), complete};
    if (on_set_) on_set_(set_);
  }
  int refreshes() {
    MutexLock lock(&mutex_);
    return refreshes_;
  }
  std::unique_ptr<ServerSource> MakeSource() { return std::make_unique<Source>(*this); }

 private:
  class Source final : public ServerSource {
   public:
    explicit Source(Told& told) : told_(told) {}
    ~Source() override {
      MutexLock lock(&told_.mutex_);
      told_.on_set_ = nullptr;
    }
    absl::Status Start(OnSet on_set) override {
      MutexLock lock(&told_.mutex_);
      told_.on_set_ = std::move(on_set);
      told_.on_set_(told_.set_);
      return absl::OkStatus();
    }
    void Refresh() override {
      MutexLock lock(&told_.mutex_);
      ++told_.refreshes_;
    }

   private:
    Told& told_;
  };

  Mutex mutex_;
  ServerSource::OnSet on_set_ ABSL_GUARDED_BY(mutex_);
  ServerSet set_ ABSL_GUARDED_BY(mutex_);
  int refreshes_ ABSL_GUARDED_BY(mutex_) = 0;
};

class ServerSetsTest : public ::testing::Test {
 protected:
  ServerSetsTest() {
    options_.global_batch_size = 32;
    options_.epochs = 0;
    // A small look-ahead, so that most rows are still to be requested.
    options_.look_ahead_bytes = 200'000;
    options_.server_timeout = absl::Seconds(60);
  }

  Loader& Open() {
    const TransportFactory factory = [this](const std::string& address) {
      EngineOptions engine;
      engine.data_root = data_.folder();
      engine.threads = 1;
      engine.memory_budget = uint64_t{64} << 20;
      const Faults faults = {.break_after_parts = break_after_parts_,
                             .refuse = address == "closed:1",
                             .refusal = absl::StatusCode::kUnauthenticated};
      return std::make_unique<FaultyTransport>(address, MakeLocalTransport(engine).value(), faults);
    };
    loader_ = OpenWithSource(options_, factory, told_.MakeSource()).value();
    return *loader_;
  }
  absl::Status Read(int batches) {
    absl::Status status;
    for (int i = 0; i < batches && status.ok(); ++i) status = ReadOne();
    return status;
  }
  // Reads until all these servers have delivered rows. Returns false if they did not within a
  // minute.
  bool ReadUntilRowsFrom(const std::vector<std::string>& addresses) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::chrono::steady_clock::now() < deadline && ReadOne().ok()) {
      const auto brought = [this](const std::string& address) { return RowsOf(address) > 0; };
      if (std::all_of(addresses.begin(), addresses.end(), brought)) return true;
    }
    return false;
  }
  absl::Status ReadOne() {
    Batch batch;
    absl::StatusOr<bool> more = loader_->Next(batch);
    if (!more.ok()) return more.status();
    digest_.Add(batch);
    next_ = batch.cursor();
    return absl::OkStatus();
  }
  // Waits until exactly these addresses are connected. Returns false if they were not within a
  // minute.
  bool WaitForConnections(const std::set<std::string>& wanted) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    std::set<std::string> connected;
    while (std::chrono::steady_clock::now() < deadline) {
      connected.clear();
      for (const LoaderStats::Server& server : loader_->stats().servers) {
        if (server.connected) connected.insert(server.address);
      }
      if (connected == wanted) return true;
      std::this_thread::yield();
    }
    return false;
  }
  void WaitForProblem() {
    while (loader_->stats().servers.empty() || loader_->stats().servers[0].problem.empty()) {
      std::this_thread::yield();
    }
  }
  uint64_t RowsOf(const std::string& address) {
    for (const LoaderStats::Server& server : loader_->stats().servers) {
      if (server.address == address) return server.rows;
    }
    return 0;
  }
  // Reads on to the end of an epoch, and expects that every record came once in each epoch.
  void ExpectEverythingIsRead() {
    do {
      ASSERT_THAT(ReadOne(), IsOk());
    } while (next_.position != 0);
    EXPECT_EQ(digest_.Hex(), data_.Digest(data_.Order(options_.plan, next_.epoch), options_.dtype));
  }

  ChessDataset data_;
  LoaderOptions options_ = data_.Options();
  Told told_;
  uint64_t break_after_parts_ = Faults::kNever;
  std::unique_ptr<Loader> loader_;
  BatchDigest digest_;
  Cursor next_;
};

TEST_F(ServerSetsTest, ServersThatJoinCarryLoad) {
  told_.Tell({"a:1"});
  Open();
  ASSERT_THAT(Read(20), IsOk());
  told_.Tell({"a:1", "b:1", "c:1"});
  ASSERT_TRUE(WaitForConnections({"a:1", "b:1", "c:1"}));
  EXPECT_TRUE(ReadUntilRowsFrom({"a:1", "b:1", "c:1"}));
  ExpectEverythingIsRead();
}

TEST_F(ServerSetsTest, ServersThatVanishAreLetGo) {
  told_.Tell({"a:1", "b:1", "c:1"});
  Open();
  ASSERT_TRUE(WaitForConnections({"a:1", "b:1", "c:1"}));
  ASSERT_THAT(Read(20), IsOk());
  told_.Tell({"c:1"});
  // The servers still deliver what they were asked for before.
  ASSERT_THAT(Read(20), IsOk());
  ASSERT_TRUE(WaitForConnections({"c:1"}));
  const uint64_t rows = RowsOf("a:1") + RowsOf("b:1");
  ASSERT_THAT(Read(100), IsOk());
  ExpectEverythingIsRead();
  EXPECT_EQ(RowsOf("a:1") + RowsOf("b:1"), rows);
}

TEST_F(ServerSetsTest, EveryServerMayBeReplaced) {
  told_.Tell({"a:1", "b:1"});
  Open();
  for (int round = 0; round < 5; ++round) {
    ASSERT_THAT(Read(20), IsOk());
    told_.Tell({absl::StrCat("a:", round + 2), absl::StrCat("b:", round + 2)});
  }
  EXPECT_TRUE(ReadUntilRowsFrom({"a:6", "b:6"}));
  ExpectEverythingIsRead();
}

TEST_F(ServerSetsTest, AServerThatComesBackIsUsedAgain) {
  told_.Tell({"a:1", "b:1"});
  Open();
  ASSERT_THAT(Read(20), IsOk());
  told_.Tell({"b:1"});
  ASSERT_THAT(Read(20), IsOk());
  ASSERT_TRUE(WaitForConnections({"b:1"}));
  told_.Tell({"a:1", "b:1"});
  ASSERT_TRUE(WaitForConnections({"a:1", "b:1"}));
  const uint64_t rows = RowsOf("a:1");
  while (RowsOf("a:1") == rows) ASSERT_THAT(Read(1), IsOk());
  ExpectEverythingIsRead();
}

TEST_F(ServerSetsTest, WaitsForTheFirstServer) {
  told_.Tell({}, absl::NotFoundError("dns:///pool:1: unknown"));
  Open();
  while (loader_->stats().servers_problem.empty()) std::this_thread::yield();
  EXPECT_EQ(loader_->stats().servers_problem, "dns:///pool:1: unknown");
  told_.Tell({"a:1"});
  ExpectEverythingIsRead();
  EXPECT_EQ(loader_->stats().servers_problem, "");
}

TEST_F(ServerSetsTest, AServerThatRefusesEndsNothingBeforeTheOthersAreKnown) {
  told_.Tell({"closed:1"}, absl::OkStatus(), /*complete=*/false);
  Open();
  WaitForProblem();
  told_.Tell({"a:1", "closed:1"});
  ExpectEverythingIsRead();
}

TEST_F(ServerSetsTest, NorWhereANameCouldNotBeResolved) {
  told_.Tell({"closed:1"}, absl::UnavailableError("dns:///pool:1: try again"));
  Open();
  WaitForProblem();
  told_.Tell({"a:1", "closed:1"});
  ExpectEverythingIsRead();
}

TEST_F(ServerSetsTest, AWholeSetThatRefusesEndsTheJob) {
  told_.Tell({"closed:1"});
  Open();
  EXPECT_THAT(Read(1), StatusIs(absl::StatusCode::kUnauthenticated,
                                HasSubstr("every server refused this client")));
}

TEST_F(ServerSetsTest, WithoutAnyServerTheErrorSaysWhyNoneWasFound) {
  options_.server_timeout = absl::Milliseconds(300);
  told_.Tell({}, absl::NotFoundError("dns:///pool:1: pool: Name or service not known"));
  Open();
  EXPECT_THAT(Read(1), StatusIs(absl::StatusCode::kUnavailable,
                                AllOf(HasSubstr("300ms"), HasSubstr("pool: Name or service"))));
}

TEST_F(ServerSetsTest, ALostStreamMakesTheSourceLookAgain) {
  break_after_parts_ = 300;
  told_.Tell({"a:1", "b:1"});
  Open();
  while (told_.refreshes() == 0) ASSERT_THAT(Read(1), IsOk());
  ExpectEverythingIsRead();
}

TEST_F(ServerSetsTest, MayBeDestroyedWhileServersComeAndGo) {
  for (int i = 0; i < 20; ++i) {
    told_.Tell({"a:1"});
    Open();
    std::jthread changes([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        told_.Tell({"a:1", "b:1"});
        told_.Tell({"b:1", "c:1"});
        std::this_thread::yield();
      }
    });
    ASSERT_THAT(Read(i), IsOk());
    loader_ = nullptr;
  }
}

}  // namespace
}  // namespace penstock
