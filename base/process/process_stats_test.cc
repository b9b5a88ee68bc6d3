#include "base/process/process_stats.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/resource_limit.h"

namespace penstock {
namespace {

TEST(ProcessStatsTest, CountsDescriptors) {
  const uint32_t before = ReadProcessStats().open_files;
  const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(ReadProcessStats().open_files, before + 1);
  close(fd);
  EXPECT_EQ(ReadProcessStats().open_files, before);
  EXPECT_GT(ReadProcessStats().open_files_limit, before);
}

TEST(ProcessStatsTest, CountsDescriptorsWhereNoneIsLeft) {
  const uint64_t before = DescriptorLimit();
  {
    const ResourceLimit few(RLIMIT_NOFILE, 32);
    std::vector<int> opened;
    for (int fd; (fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) opened.push_back(fd);
    EXPECT_EQ(ReadProcessStats().open_files, 32u);
    for (const int fd : opened) close(fd);
  }
  EXPECT_EQ(DescriptorLimit(), before);
}

TEST(ProcessStatsTest, ResidentMemoryGrowsWhereItIsTouched) {
  const uint64_t before = ReadProcessStats().resident_bytes;
  const std::string touched(size_t{64} << 20, 'x');
  EXPECT_GE(ReadProcessStats().resident_bytes, before + touched.size() / 2);
}

TEST(ProcessStatsTest, ProcessorTimeNeverFalls) {
  const double before = ReadProcessStats().cpu_seconds;
  EXPECT_GT(before, 0);
  EXPECT_GE(ReadProcessStats().cpu_seconds, before);
}

TEST(ProcessStatsTest, StartedNotLongAgo) {
  const double now = static_cast<double>(time(nullptr));
  EXPECT_LE(ReadProcessStats().start_time_seconds, now + 2);
  EXPECT_GE(ReadProcessStats().start_time_seconds, now - 3600);
}

}  // namespace
}  // namespace penstock
