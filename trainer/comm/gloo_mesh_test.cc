#include "trainer/comm/gloo_mesh.h"

#include <thread>

#include "gloo/transport/tcp/device.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/comm/testing/rank_threads.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

// The store as a rank sees it that gets no further than to give its address.
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

// Of two addresses Gloo has the larger one connect, so that the others wait for it.
std::shared_ptr<gloo::transport::Device> LargestAddress() {
  gloo::transport::tcp::attr attributes;
  attributes.hostname = "127.0.0.9";
  return gloo::transport::tcp::CreateDevice(attributes);
}

constexpr absl::Duration kForever = absl::Hours(1);

// Whatever the others have got to by then: they wait for its connection, or are about to.
TEST(GlooMeshTest, ARankThatEndsWhileOthersWaitForItsConnectionEndsThem) {
  RankGroupOptions options;
  options.join_timeout = options.gloo.connect_timeout = kForever;
  RankGroupOptions ends = options;
  ends.connect = [](const RankInfo& info, StoreClient& store,
                    const WaitOptions&) -> absl::StatusOr<std::unique_ptr<Communicator>> {
    AddressGiven own(store);
    GlooMesh mesh(info);
    EXPECT_TRUE(absl::IsCancelled(mesh.Connect(LargestAddress(), own, kForever)));
    for (const char* other : {"gloo/0", "gloo/1"}) EXPECT_OK(store.Get(other, kForever));
    store.Leave(absl::InternalError("on purpose"));
    return absl::InternalError("on purpose");
  };
  std::vector<std::jthread> threads;
  for (uint32_t rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, info = TestRank(rank, 3)] {
      const auto group = RankGroup::Join(info, info.rank == 2 ? ends : options);
      if (info.rank == 2) return;
      EXPECT_THAT(group.status(), StatusIs(absl::StatusCode::kUnavailable,
                                           AllOf(HasSubstr("rank 2 "), HasSubstr("on purpose"),
                                                 HasSubstr("while"), HasSubstr("connecting"))));
    });
  }
}

TEST(GlooMeshTest, ARankThatDoesNotComeIsNamed) {
  RankGroupOptions options;
  options.gloo.connect_timeout = absl::Milliseconds(300);
  RankGroupOptions never = options;
  never.connect = [](const RankInfo&, StoreClient& store,
                     const WaitOptions&) -> absl::StatusOr<std::unique_ptr<Communicator>> {
    return store.WaitForLost(kForever);
  };
  std::vector<std::jthread> threads;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, info = TestRank(rank, 2)] {
      const auto group = RankGroup::Join(info, info.rank == 1 ? never : options);
      EXPECT_THAT(group.status().message(),
                  AnyOf(HasSubstr("connecting to rank 1"), HasSubstr("rank 0 ")));
    });
  }
}

}  // namespace
}  // namespace penstock
