#include "base/process/machine_limits.h"

#include "gtest/gtest.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

class MachineLimitsTest : public ::testing::Test {
 protected:
  void Group(const std::string& lines) { folder_.Write("self", lines); }
  void File(const std::string& path, const std::string& text) {
    folder_.Write("cgroup/" + path, text + "\n");
  }
  MachineLimits Read() {
    return ReadMachineLimits({.cgroup_root = folder_.File("cgroup"),
                              .self_cgroup = folder_.File("self"),
                              .affinity_cores = 8,
                              .physical_memory = 1000});
  }

 private:
  TempFolder folder_;
};

TEST_F(MachineLimitsTest, WithoutGroupsTheMachineItselfLimits) {
  EXPECT_EQ(Read().cores, 8u);
  EXPECT_EQ(Read().exact_cores, 8);
  EXPECT_EQ(Read().memory_bytes, 1000u);
}

TEST_F(MachineLimitsTest, Version2RoundsShareOfCoresUp) {
  Group("0::/box\n");
  File("box/cpu.max", "250000 100000");
  File("box/memory.max", "600");
  EXPECT_EQ(Read().cores, 3u);
  EXPECT_EQ(Read().exact_cores, 2.5);
  EXPECT_EQ(Read().memory_bytes, 600u);
}

TEST_F(MachineLimitsTest, Version2SurroundingGroupLimitsToo) {
  Group("0::/outer/inner\n");
  File("outer/cpu.max", "100000 100000");
  File("outer/memory.max", "500");
  File("outer/inner/cpu.max", "max 100000");
  File("outer/inner/memory.max", "max");
  EXPECT_EQ(Read().cores, 1u);
  EXPECT_EQ(Read().memory_bytes, 500u);
}

TEST_F(MachineLimitsTest, Version1ReadsEachControllersOwnFolder) {
  Group("4:memory:/box\n1:cpu,cpuacct:/box\n");
  File("memory/box/memory.limit_in_bytes", "700");
  File("cpu,cpuacct/box/cpu.cfs_quota_us", "200000");
  File("cpu,cpuacct/box/cpu.cfs_period_us", "100000");
  EXPECT_EQ(Read().cores, 2u);
  EXPECT_EQ(Read().memory_bytes, 700u);
}

TEST_F(MachineLimitsTest, Version1UnlimitedIsMinusOneAndAHugeNumber) {
  Group("4:memory:/\n1:cpu:/\n");
  File("memory/memory.limit_in_bytes", "9223372036854771712");
  File("cpu/cpu.cfs_quota_us", "-1");
  File("cpu/cpu.cfs_period_us", "100000");
  EXPECT_EQ(Read().cores, 8u);
  EXPECT_EQ(Read().memory_bytes, 1000u);
}

TEST_F(MachineLimitsTest, GroupOutsideOfTheMountFallsBackToItsTop) {
  Group("4:memory:/docker/0123\n");
  File("memory/memory.limit_in_bytes", "400");
  EXPECT_EQ(Read().memory_bytes, 400u);
}

TEST_F(MachineLimitsTest, DamagedFilesLimitNothing) {
  Group("nonsense\n0::/box\n:::\n");
  File("box/cpu.max", "");
  File("box/memory.max", "lots");
  EXPECT_EQ(Read().cores, 8u);
  EXPECT_EQ(Read().memory_bytes, 1000u);
}

}  // namespace
}  // namespace penstock
