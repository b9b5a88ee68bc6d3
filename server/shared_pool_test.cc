#include "server/shared_pool.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

constexpr size_t kSize = size_t{1} << 20;

class SharedPoolTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK_AND_ASSIGN(pool_, SharedPool::Create(kSize)); }
  std::shared_ptr<SharedPool> pool_;
};

TEST_F(SharedPoolTest, AReaderSeesWhatIsWritten) {
  void* mapped = mmap(nullptr, kSize, PROT_READ, MAP_SHARED, pool_->fd(), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  std::span<uint8_t> first = pool_->Take(4096), second = pool_->Take(8192);
  std::memset(second.data(), 7, second.size());
  EXPECT_EQ(static_cast<uint8_t*>(mapped)[pool_->OffsetOf(second.data())], 7);
  EXPECT_EQ(pool_->OffsetOf(first.data()), 0u);
  munmap(mapped, kSize);
}

TEST_F(SharedPoolTest, ItsSizeIsForEver) {
  EXPECT_EQ(ftruncate(pool_->fd(), 4096), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(ftruncate(pool_->fd(), 2 * kSize), -1);
  EXPECT_EQ(fcntl(pool_->fd(), F_ADD_SEALS, F_SEAL_WRITE), -1);
}

TEST_F(SharedPoolTest, NobodyElseMayWrite) {
  if ((fcntl(pool_->fd(), F_GET_SEALS) & 0x10) == 0) GTEST_SKIP() << "needs Linux 5.1";
  EXPECT_EQ(mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, pool_->fd(), 0), MAP_FAILED);
  EXPECT_EQ(pwrite(pool_->fd(), "x", 1, 0), -1);
}

TEST_F(SharedPoolTest, GivesEveryByteOnceAndAgainAfterItsReturn) {
  std::vector<std::span<uint8_t>> taken;
  for (std::span<uint8_t> next; !(next = pool_->Take(65536)).empty();) {
    for (std::span<uint8_t> other : taken) ASSERT_NE(other.data(), next.data());
    EXPECT_EQ(pool_->OffsetOf(next.data()) % 65536, 0u);
    taken.push_back(next);
  }
  EXPECT_EQ(taken.size(), kSize / 65536);
  pool_->Return(taken[3]);
  EXPECT_TRUE(pool_->Take(131072).empty());
  EXPECT_EQ(pool_->Take(65536).data(), taken[3].data());
}

TEST_F(SharedPoolTest, PrefersTheLowestAddress) {
  std::span<uint8_t> first = pool_->Take(4096);
  std::span<uint8_t> large = pool_->Take(65536);
  EXPECT_EQ(pool_->OffsetOf(large.data()), 65536u);
  EXPECT_EQ(pool_->OffsetOf(pool_->Take(8192).data()), 8192u);
  pool_->Return(first);
  EXPECT_EQ(pool_->OffsetOf(pool_->Take(4096).data()), 0u);
}

TEST_F(SharedPoolTest, KnowsItsOwn) {
  uint8_t other = 0;
  EXPECT_FALSE(pool_->Holds(&other));
  std::span<uint8_t> all = pool_->Take(kSize);
  EXPECT_TRUE(pool_->Holds(all.data()));
  EXPECT_FALSE(pool_->Holds(all.data() + kSize));
}

}  // namespace
}  // namespace penstock
