// Ranks that others cannot connect to, for tests of every kind of connection.
#ifndef PENSTOCK_TRAINER_COMM_TESTING_UNCONNECTED_RANK_H_
#define PENSTOCK_TRAINER_COMM_TESTING_UNCONNECTED_RANK_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/comm/testing/rank_threads.h"

namespace penstock {

// A rank's view of the store; the rank gets no further than publishing its address.
class AddressGiven final : public StoreClient {
 public:
  explicit AddressGiven(StoreClient& store) : store_(store) {}

  absl::Status Put(const std::string& key, const std::string& value) override {
    return store_.Put(key, value);
  }
  absl::Status PutFor(uint32_t rank, const std::string& key, const std::string& value) override {
    return store_.PutFor(rank, key, value);
  }
  absl::Status PutForEach(const std::string& key, const std::vector<std::string>& values) override {
    return store_.PutForEach(key, values);
  }
  absl::StatusOr<std::string> Get(const std::string&, absl::Duration) override {
    return absl::CancelledError("no further");
  }
  void Leave(const absl::Status& why) override { store_.Leave(why); }
  absl::Status lost() const override { return store_.lost(); }
  absl::Status WaitForLost(absl::Duration timeout) const override {
    return store_.WaitForLost(timeout);
  }
  void OnLost(const void* owner, std::function<void(const absl::Status&)> callback) override {
    store_.OnLost(owner, std::move(callback));
  }

 private:
  StoreClient& store_;
};

// Adapts `connect`, which takes TcpOptions.
template <typename Connect>
ConnectRanks ConnectBy(Connect connect) {
  return [connect](const RankInfo& info, StoreClient& store, const WaitOptions& options) {
    TcpOptions tcp;
    static_cast<WaitOptions&>(tcp) = options;
    return connect(info, store, tcp);
  };
}

// Rank 2 runs `begin`, which publishes its address, and ends once the others have published theirs
// as `key`/RANK. By then the others wait for its connection, or are about to.
inline void ExpectThatAnEndEndsConnecting(
    const ConnectRanks& connect, absl::string_view key,
    const std::function<void(const RankInfo&, StoreClient&)>& begin) {
  constexpr absl::Duration kForever = absl::Hours(1);
  RankGroupOptions options{.join_timeout = kForever, .connect = connect};
  options.tcp.connect_timeout = kForever;
  RankGroupOptions ends = options;
  ends.connect = [&](const RankInfo& info, StoreClient& store,
                     const WaitOptions&) -> absl::StatusOr<std::unique_ptr<Communicator>> {
    AddressGiven own(store);
    begin(info, own);
    for (uint32_t other : {0, 1}) EXPECT_OK(store.Get(absl::StrCat(key, "/", other), kForever));
    store.Leave(absl::InternalError("on purpose"));
    return absl::InternalError("on purpose");
  };
  std::vector<std::jthread> threads;
  for (uint32_t rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, info = TestRank(rank, 3)] {
      const auto group = RankGroup::Join(info, info.rank == 2 ? ends : options);
      if (info.rank == 2) return;
      using testing::HasSubstr;
      EXPECT_THAT(group.status(),
                  StatusIs(absl::StatusCode::kUnavailable,
                           testing::AllOf(HasSubstr("rank 2 "), HasSubstr("on purpose"),
                                          HasSubstr("while"), HasSubstr("connecting"))));
    });
  }
}

inline void ExpectThatOneWhoDoesNotComeIsNamed(const ConnectRanks& connect) {
  RankGroupOptions options{.connect = connect};
  options.tcp.connect_timeout = absl::Milliseconds(300);
  options.tcp.verdict_timeout = absl::Milliseconds(100);
  RankGroupOptions never = options;
  never.connect = [](const RankInfo&, StoreClient& store,
                     const WaitOptions&) -> absl::StatusOr<std::unique_ptr<Communicator>> {
    return store.WaitForLost(absl::Hours(1));
  };
  std::vector<std::jthread> threads;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, info = TestRank(rank, 2)] {
      const auto group = RankGroup::Join(info, info.rank == 1 ? never : options);
      EXPECT_THAT(group.status().message(),
                  testing::AnyOf(testing::HasSubstr("connecting to rank 1"),
                                 testing::HasSubstr("rank 0 ")));
    });
  }
}

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_COMM_TESTING_UNCONNECTED_RANK_H_
