#include "trainer/cuda/connect_devices.h"

#include <cstdlib>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/comm/testing/rank_threads.h"
#include "trainer/cuda/nccl_library.h"
#include "trainer/cuda/testing/host_stream.h"

namespace penstock {
namespace {

using testing::HasSubstr;

class ConnectDevicesTest : public testing::Test {
 protected:
  ConnectDevicesTest() { setenv("PENSTOCK_CUDA_LIBS", PENSTOCK_FAKE_NCCL, 1); }

  // Rank r has gpus[r].
  using Body =
      std::function<void(RankGroup&, HostStream&, absl::StatusOr<std::unique_ptr<Communicator>>)>;
  static void Run(const std::vector<std::string>& gpus, bool allow_shared_gpu, const Body& body) {
    RunRanks(static_cast<uint32_t>(gpus.size()), [&](RankGroup& group) {
      HostStream stream;
      const DeviceOptions options{.gpu = gpus[group.info().rank],
                                  .allow_shared_gpu = allow_shared_gpu};
      body(group, stream, ConnectDevices(group, stream, options));
    });
  }
  static void BarrierWorks(absl::StatusOr<std::unique_ptr<Communicator>>& made) {
    ASSERT_OK(made);
    EXPECT_EQ((*made)->memory(), Communicator::Memory::kDevice);
    EXPECT_OK((*made)->Barrier());
  }
};

TEST_F(ConnectDevicesTest, OneGpuOfTwoRanksIsAnErrorThatNamesThem) {
  Run({"GPU-a", "GPU-a"}, false, [](RankGroup&, HostStream&, auto made) {
    EXPECT_THAT(made, StatusIs(absl::StatusCode::kInvalidArgument,
                               HasSubstr("ranks 0 and 1 both have GPU-a")));
  });
}

TEST_F(ConnectDevicesTest, SharedGpusGoThroughTheHost) {
  Run({"GPU-a", "GPU-b", "GPU-a"}, true, [](RankGroup&, HostStream& stream, auto made) {
    BarrierWorks(made);
    std::vector<uint8_t> bytes(100);
    ASSERT_OK((*made)->Broadcast(1, bytes));
    EXPECT_GE(stream.copied(), 100u);
  });
}

// The host does not copy bytes for other ranks: NCCL moves them.
TEST_F(ConnectDevicesTest, GpusOfTheirOwnAreConnectedByNccl) {
  Run({"GPU-a", "GPU-b"}, true, [](RankGroup&, HostStream& stream, auto made) {
    BarrierWorks(made);
    const size_t before = stream.copied();  // The test of graphs copies too.
    std::vector<uint8_t> bytes(100);
    ASSERT_OK((*made)->Broadcast(1, bytes));
    EXPECT_EQ(stream.copied(), before);
  });
}

TEST_F(ConnectDevicesTest, OneRankNeedsNone) {
  Run({"GPU-a"}, false, [](RankGroup&, HostStream&, auto made) {
    ASSERT_OK(made);
    EXPECT_EQ(*made, nullptr);
  });
}

}  // namespace
}  // namespace penstock
