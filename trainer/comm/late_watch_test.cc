#include "trainer/comm/late_watch.h"

#include <algorithm>
#include <map>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/comm/testing/rank_threads.h"

namespace penstock {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using Ranks = std::vector<std::optional<RankProgress>>;

std::optional<RankProgress> At(uint64_t step, uint32_t bucket = 0) {
  return RankProgress{.step = step, .bucket = bucket};
}
std::optional<RankProgress> WaitingAt(uint64_t step, uint32_t bucket, int waiting_ms) {
  return RankProgress{.step = step, .bucket = bucket, .waiting = milliseconds(waiting_ms)};
}

TEST(RankProgressTest, TravelsAsText) {
  for (const auto& progress : {*At(7, 3), *WaitingAt(1, 0, 250)}) {
    const auto back = RankProgress::FromText(progress.ToText());
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(back->step, progress.step);
    EXPECT_EQ(back->bucket, progress.bucket);
    EXPECT_EQ(back->waiting, progress.waiting);
  }
  for (const char* text : {"", "1", "1 2 3 4", "a 2", "1 -2", "1 2 x"}) {
    EXPECT_FALSE(RankProgress::FromText(text).has_value()) << text;
  }
}

TEST(DescribeLateTest, NobodyIsLateWhileNobodyWaitsForLong) {
  EXPECT_THAT(DescribeLate(Ranks{At(7), WaitingAt(7, 0, 99), std::nullopt}, milliseconds(100)),
              IsEmpty());
}

TEST(DescribeLateTest, WhoDoesNotWaitIsLate) {
  EXPECT_THAT(DescribeLate(Ranks{WaitingAt(12, 1, 500), WaitingAt(12, 1, 100), At(11, 3)},
                           milliseconds(500)),
              AllOf(HasSubstr("rank 2 at step 11, bucket 3 is late"),
                    HasSubstr("at step 12, bucket 1"), HasSubstr("for 500ms")));
}

TEST(DescribeLateTest, WhoHasToldNothingIsLate) {
  EXPECT_THAT(DescribeLate(Ranks{WaitingAt(1, 0, 500), std::nullopt, At(1)}, milliseconds(100)),
              HasSubstr("rank 1, rank 2 at step 1, bucket 0 are late"));
}

TEST(DescribeLateTest, IfAllWaitWhoIsBehindIsLate) {
  EXPECT_THAT(DescribeLate(Ranks{WaitingAt(12, 2, 500), WaitingAt(12, 1, 500)}, milliseconds(100)),
              HasSubstr("rank 1 at step 12, bucket 1 is late"));
  EXPECT_THAT(DescribeLate(Ranks{WaitingAt(12, 2, 500), WaitingAt(12, 2, 500)}, milliseconds(100)),
              AllOf(HasSubstr("all ranks wait for each other at step 12, bucket 2"),
                    Not(HasSubstr("late"))));
}

// Rank 0 is behind by its step, although its bucket is the highest.
TEST(DescribeLateTest, TheStepCountsBeforeTheBucket) {
  const Ranks ranks = {WaitingAt(11, 3, 500), WaitingAt(12, 1, 500), WaitingAt(12, 2, 500)};
  EXPECT_THAT(DescribeLate(ranks, milliseconds(100)),
              HasSubstr("rank 0 at step 11, bucket 3 is late"));
}

TEST(DescribeLateTest, NamesThePlaceOfTheLongestWait) {
  const auto shorter = WaitingAt(12, 1, 200), longer = WaitingAt(12, 2, 500);
  for (const Ranks& ranks : {Ranks{shorter, longer, At(11)}, Ranks{longer, shorter, At(11)}}) {
    EXPECT_THAT(DescribeLate(ranks, milliseconds(100)),
                AllOf(HasSubstr("rank 2 at step 11, bucket 0 is late"),
                      HasSubstr("others wait at step 12, bucket 2")));
  }
}

// Collects the reports that the ranks get.
class Told {
 public:
  void Add(size_t rank, absl::string_view line) {
    MutexLock lock(&mutex_);
    lines_[rank].emplace_back(line);
    changed_.NotifyAll();
  }
  // Waits until `count` ranks were told `words`. Returns false after a minute.
  bool WaitForRanks(size_t count, absl::string_view words) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    MutexLock lock(&mutex_);
    while (NumTold(words) < count) {
      if (!changed_.WaitUntil(&mutex_, deadline)) return NumTold(words) >= count;
    }
    return true;
  }
  std::map<size_t, std::vector<std::string>> lines() {
    MutexLock lock(&mutex_);
    return lines_;
  }

 private:
  size_t NumTold(absl::string_view words) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return std::count_if(lines_.begin(), lines_.end(), [words](const auto& rank) {
      return std::any_of(rank.second.begin(), rank.second.end(), [words](const std::string& line) {
        return absl::StrContains(line, words);
      });
    });
  }

  Mutex mutex_;
  CondVar changed_;
  std::map<size_t, std::vector<std::string>> lines_ ABSL_GUARDED_BY(mutex_);
};

// Rank 2 comes to the barrier only once all ranks, including itself, have heard that it is late.
// Before that, they may hear about other ranks that have not arrived either.
TEST(LateWatchTest, EveryRankIsToldWhoIsLateAndWhere) {
  static constexpr absl::string_view kLate =
      "rank 2 at step 4, bucket 1 is late: others wait at step 5, bucket 1 for 200ms";
  Told told;
  std::vector<std::jthread> threads;
  for (uint32_t rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&told, info = TestRank(rank, 3)] {
      RankGroupOptions options;
      options.tcp.late_after = absl::Milliseconds(200);
      options.tcp.report = [&told, rank = info.rank](absl::string_view line) {
        told.Add(rank, line);
      };
      auto group = RankGroup::Join(info, options);
      ASSERT_OK(group);
      (*group)->communicator().Mark(info.rank == 2 ? 4 : 5, 1);
      if (info.rank == 2) {
        EXPECT_TRUE(told.WaitForRanks(3, kLate));
      }
      EXPECT_OK((*group)->communicator().Barrier());
    });
  }
  threads.clear();
  for (const auto& [rank, lines] : told.lines()) {
    EXPECT_THAT(lines, testing::Contains(HasSubstr(std::string(kLate)))) << "rank " << rank;
  }
}

// The entries that ranks exchange, without a server. Counts the receivers of each rank's messages.
class FakeStores {
 public:
  explicit FakeStores(uint32_t ranks) : entries_(ranks), most_told_(ranks) {}

  std::unique_ptr<StoreClient> ClientOf(uint32_t rank) {
    return std::make_unique<Client>(*this, rank);
  }
  // For each rank, the most receivers that one of its messages had.
  std::vector<size_t> most_told() {
    MutexLock lock(&mutex_);
    return most_told_;
  }

 private:
  struct Client final : StoreClient {
    Client(FakeStores& all, uint32_t own) : stores(all), rank(own) {}
    absl::Status Put(const std::string& key, const std::string& value) override {
      MutexLock lock(&stores.mutex_);
      for (auto& entries : stores.entries_) entries[key] = value;
      stores.most_told_[rank] = stores.entries_.size();
      return absl::OkStatus();
    }
    absl::Status PutForEach(const std::string&, const std::vector<std::string>&) override {
      return absl::UnimplementedError("");
    }
    absl::Status PutFor(uint32_t to, const std::string& key, const std::string& value) override {
      MutexLock lock(&stores.mutex_);
      stores.entries_[to][key] = value;
      stores.most_told_[rank] = std::max<size_t>(1, stores.most_told_[rank]);
      return absl::OkStatus();
    }
    absl::StatusOr<std::string> Get(const std::string& key, absl::Duration) override {
      MutexLock lock(&stores.mutex_);
      const auto it = stores.entries_[rank].find(key);
      if (it == stores.entries_[rank].end()) return absl::DeadlineExceededError(key);
      return it->second;
    }
    void Leave(const absl::Status&) override {}
    absl::Status lost() const override { return absl::OkStatus(); }
    absl::Status WaitForLost(absl::Duration) const override { return absl::OkStatus(); }
    void OnLost(const void*, std::function<void(const absl::Status&)>) override {}

    FakeStores& stores;
    const uint32_t rank;
  };

  Mutex mutex_;
  std::vector<std::map<std::string, std::string>> entries_ ABSL_GUARDED_BY(mutex_);
  std::vector<size_t> most_told_ ABSL_GUARDED_BY(mutex_);
};

// Waits until `who` is late and no other rank is.
void WaitUntilLate(const LateWatch& watch, absl::string_view who) {
  while (!absl::StartsWith(watch.Late(), absl::StrCat(who, " is late: others wait"))) {
    std::this_thread::sleep_for(milliseconds(1));
  }
}

// With n ranks, rank 0 would otherwise send about n * n messages each time.
TEST(LateWatchTest, RanksTellRank0AloneWhichTellsAll) {
  constexpr uint32_t kRanks = 4;
  FakeStores stores(kRanks);
  std::vector<std::unique_ptr<StoreClient>> clients;
  std::vector<std::unique_ptr<LateWatch>> watches;
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    clients.push_back(stores.ClientOf(rank));
    auto watch =
        LateWatch::Start(TestRank(rank, kRanks), *clients.back(), {.late_after = milliseconds(4)});
    ASSERT_OK(watch);
    watches.push_back(*std::move(watch));
    watches.back()->Mark(rank == 2 ? 6 : 7, 0);
    if (rank != 2) watches.back()->Begin();
  }
  for (const auto& watch : watches) WaitUntilLate(*watch, "rank 2 at step 6, bucket 0");
  watches.clear();
  EXPECT_THAT(stores.most_told(), testing::ElementsAre(kRanks, 1, 1, 1));
}

// A rank that hangs before its first message leaves a gap between the others in what rank 0 tells.
TEST(LateWatchTest, WhoHasToldNothingIsNamedByEveryRank) {
  for (const uint32_t silent : {1, 2}) {
    FakeStores stores(4);
    std::vector<std::unique_ptr<StoreClient>> clients;
    std::vector<std::unique_ptr<LateWatch>> watches;
    for (const uint32_t rank : {0, 1, 2, 3}) {
      if (rank == silent) continue;
      clients.push_back(stores.ClientOf(rank));
      auto watch =
          LateWatch::Start(TestRank(rank, 4), *clients.back(), {.late_after = milliseconds(4)});
      ASSERT_OK(watch);
      watches.push_back(*std::move(watch));
      watches.back()->Mark(7, 0);
      watches.back()->Begin();
    }
    for (const auto& watch : watches) WaitUntilLate(*watch, absl::StrCat("rank ", silent));
  }
}

// A stopped process, or one on a stopped host, sends nothing more, not even the end of its wait.
TEST(LateWatchTest, WhoHasStoppedSayingThatItWaitsIsLate) {
  for (const uint32_t stopped : {2, 0}) {
    FakeStores stores(3);
    const auto silent = stores.ClientOf(stopped);
    ASSERT_OK(silent->PutFor(0, "progress//2", "7 0 30"));
    ASSERT_OK(silent->Put("progress//all", "7 0 30,7 0 30,7 0 30"));
    std::vector<std::unique_ptr<StoreClient>> clients;
    std::vector<std::unique_ptr<LateWatch>> watches;
    for (const uint32_t rank : {0, 1}) {
      if (rank == stopped) continue;
      clients.push_back(stores.ClientOf(rank));
      auto watch =
          LateWatch::Start(TestRank(rank, 3), *clients.back(), {.late_after = milliseconds(100)});
      ASSERT_OK(watch);
      watches.push_back(*std::move(watch));
      watches.back()->Mark(7, 0);
      watches.back()->Begin();
    }
    for (const auto& watch : watches) {
      WaitUntilLate(*watch, absl::StrCat("rank ", stopped, " at step 7, bucket 0"));
    }
  }
}

}  // namespace
}  // namespace penstock
