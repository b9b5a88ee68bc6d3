#include "trainer/cuda/device_place.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/comm/testing/rank_threads.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::vector<DevicePlace> Places(std::vector<std::string> gpus) {
  std::vector<DevicePlace> places;
  for (std::string& gpu : gpus) places.push_back({"node1", std::move(gpu), "2.18.5"});
  return places;
}

TEST(DevicePlaceTest, TwoRanksOnOneGpuAreNamed) {
  EXPECT_OK(CheckForNccl(Places({"GPU-a", "GPU-b", "GPU-c"})));
  EXPECT_FALSE(SharesGpus(Places({"GPU-a", "GPU-b", "GPU-c"})));
  EXPECT_TRUE(SharesGpus(Places({"GPU-a", "GPU-b", "GPU-a"})));
  EXPECT_THAT(CheckForNccl(Places({"GPU-a", "GPU-b", "GPU-a"})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("ranks 0 and 2 both have GPU-a on node1"),
                             HasSubstr("--allow-shared-gpu"))));
}

TEST(DevicePlaceTest, DifferentVersionsOfNcclAreNamed) {
  std::vector<DevicePlace> places = Places({"GPU-a", "GPU-b"});
  places[1].nccl = "2.19.3";
  EXPECT_THAT(CheckForNccl(places),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("NCCL is 2.18.5 on rank 0 and 2.19.3 on rank 1 (node1)")));
}

TEST(DevicePlaceTest, EveryRankHearsOfAll) {
  RunRanks(3, [](RankGroup& group) {
    const DevicePlace own{"node1", absl::StrCat("GPU-", group.info().rank), ""};
    ASSERT_OK_AND_ASSIGN(const std::vector<DevicePlace> places,
                         ShareDevicePlaces(group.info(), *group.store(), own, absl::Seconds(60)));
    for (size_t r = 0; r < 3; ++r) {
      EXPECT_EQ(places[r].host, "node1");
      EXPECT_EQ(places[r].gpu, absl::StrCat("GPU-", r));
      EXPECT_EQ(places[r].nccl, "");
    }
  });
}

}  // namespace
}  // namespace penstock
