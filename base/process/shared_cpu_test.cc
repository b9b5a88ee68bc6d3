#include "base/process/shared_cpu.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

const double kTicksPerSecond = static_cast<double>(sysconf(_SC_CLK_TCK));

// A CPU that was busy for `seconds`, a sixth of it for each of six reasons, and idle for a day.
std::string CpuLine(int cpu, double seconds) {
  const auto ticks = static_cast<uint64_t>(seconds * kTicksPerSecond / 6);
  return absl::StrCat("cpu", cpu, " ", ticks, " ", ticks, " ", ticks, " 8640000 100 ", ticks, " ",
                      ticks, " ", ticks, " 0 0\n");
}

class SharedCpuTest : public ::testing::Test {
 protected:
  // Adds the line of the sum before `lines`, and a line that describes no CPU after them.
  void Machine(const std::string& lines) {
    folder_.Write("stat", "cpu  1 2 3 4 5 6 7 8 9 10\n" + lines + "intr 1 2\n");
  }
  void Group(const std::string& lines) { folder_.Write("self", lines); }
  void File(const std::string& path, const std::string& text) {
    folder_.Write("cgroup/" + path, text + "\n");
  }
  std::vector<SharedCpu> Read(uint32_t cores) {
    return ReadSharedCpu({.cgroup_root = folder_.File("cgroup"),
                          .self_cgroup = folder_.File("self"),
                          .stat = folder_.File("stat"),
                          .affinity_cores = cores});
  }

 private:
  TempFolder folder_;
};

TEST_F(SharedCpuTest, CountsWhatIsNotIdleOfTheCpusThatMayBeUsed) {
  Machine(CpuLine(0, 60) + CpuLine(1, 120) + CpuLine(2, 6000));
  const std::vector<SharedCpu> from = Read(2);
  ASSERT_THAT(from, SizeIs(1));
  EXPECT_DOUBLE_EQ(from[0].busy_seconds, 180);
  Machine(CpuLine(0, 69) + CpuLine(1, 126) + CpuLine(2, 6000));
  const CpuUse use = MostUsedCpu(from, Read(2), 10);
  EXPECT_FALSE(use.of_group);
  EXPECT_DOUBLE_EQ(use.cores, 2);
  EXPECT_DOUBLE_EQ(use.busy_cores, 1.5);
  EXPECT_DOUBLE_EQ(use.share(), 0.75);
}

TEST_F(SharedCpuTest, AGroupAroundThisOneCanBeFullOnAnIdleMachine) {
  Machine(CpuLine(0, 60));
  Group("0::/pod/box\n");
  File("pod/cpu.max", "150000 100000");
  File("pod/cpu.stat", "usage_usec 1000000\nuser_usec 1");
  File("pod/box/cpu.max", "max 100000");
  File("pod/box/cpu.stat", "usage_usec 5");
  const std::vector<SharedCpu> from = Read(8);
  File("pod/cpu.stat", "usage_usec 16000000\nuser_usec 1");
  const CpuUse use = MostUsedCpu(from, Read(8), 10);
  EXPECT_TRUE(use.of_group);
  EXPECT_DOUBLE_EQ(use.cores, 1.5);
  EXPECT_DOUBLE_EQ(use.busy_cores, 1.5);
}

TEST_F(SharedCpuTest, Version1CountsNanoseconds) {
  Group("1:cpu,cpuacct:/box\n");
  File("cpu,cpuacct/box/cpu.cfs_quota_us", "200000");
  File("cpu,cpuacct/box/cpu.cfs_period_us", "100000");
  File("cpu,cpuacct/box/cpu.stat", "nr_periods 3");
  File("cpu,cpuacct/box/cpuacct.usage", "3000000000");
  const std::vector<SharedCpu> now = Read(8);
  ASSERT_THAT(now, SizeIs(1));
  EXPECT_DOUBLE_EQ(now[0].cores, 2);
  EXPECT_DOUBLE_EQ(now[0].busy_seconds, 3);
}

TEST_F(SharedCpuTest, WhatIsNotToldIsLeftOut) {
  EXPECT_THAT(Read(8), IsEmpty());
  Machine("cpu0 nonsense\ncpu1 1 2 3\n");
  Group("0::/box\n");
  File("box/cpu.max", "100000 100000");
  EXPECT_THAT(Read(8), IsEmpty());
  EXPECT_DOUBLE_EQ(MostUsedCpu({}, Read(8), 10).share(), 0);
}

TEST_F(SharedCpuTest, AChangedLimitAndNoTimeSayNothing) {
  const SharedCpu one = {.group = "", .cores = 1, .busy_seconds = 1};
  const SharedCpu two = {.group = "", .cores = 2, .busy_seconds = 9};
  EXPECT_DOUBLE_EQ(MostUsedCpu({one}, {two}, 10).share(), 0);
  EXPECT_DOUBLE_EQ(MostUsedCpu({two}, {two}, 0).share(), 0);
}

TEST(SharedCpuOfThisMachineTest, IsTold) {
  const std::vector<SharedCpu> now = ReadSharedCpu();
  ASSERT_FALSE(now.empty());
  EXPECT_GE(now[0].cores, 1);
  EXPECT_GT(now[0].busy_seconds, 0);
}

}  // namespace
}  // namespace penstock
