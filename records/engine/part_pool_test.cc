#include "records/engine/part_pool.h"

#include <memory>

#include "gtest/gtest.h"

namespace penstock {
namespace {

class PartPoolTest : public ::testing::Test {
 protected:
  PartBuffer Take(PartPool::Home& home, size_t size) {
    return PartBuffer(&home, pool_->Take(home, size), size);
  }

  size_t returned_ = 0;
  std::shared_ptr<PartPool> pool_ = std::make_shared<PartPool>(
      size_t{4} << 20, [this](SessionState*, size_t bytes) { returned_ += bytes; });
};

TEST_F(PartPoolTest, CapacityIsThePowerOfTwoAbove) {
  EXPECT_EQ(PartPool::Capacity(1), 4096u);
  EXPECT_EQ(PartPool::Capacity(4096), 4096u);
  EXPECT_EQ(PartPool::Capacity(4097), 8192u);
  EXPECT_EQ(PartPool::Capacity(PartBuffer::kMaxPartBytes), PartBuffer::kMaxPartBytes);
}

TEST_F(PartPoolTest, ReusesWhatReturnedLast) {
  PartPool::HomePtr home = pool_->MakeHome(nullptr);
  PartBuffer first = Take(*home, 1 << 20), second = Take(*home, 1 << 20);
  const uint8_t* memory = second.bytes().data();
  first = PartBuffer();
  second = PartBuffer();
  EXPECT_EQ(Take(*home, 1 << 20).bytes().data(), memory);
}

TEST_F(PartPoolTest, MemoryBeginsAtACacheLine) {
  PartPool::HomePtr home = pool_->MakeHome(nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(Take(*home, 100).bytes().data()) % 64, 0u);
}

TEST_F(PartPoolTest, TellsHowMuchReturned) {
  PartPool::HomePtr home = pool_->MakeHome(nullptr);
  PartBuffer part = Take(*home, 5000);
  EXPECT_EQ(pool_->outstanding_bytes(), 8192u);
  part = PartBuffer();
  EXPECT_EQ(pool_->outstanding_bytes(), 0u);
  EXPECT_EQ(returned_, 8192u);
}

TEST_F(PartPoolTest, PartsOutliveHomeAndPool) {
  PartPool::HomePtr home = pool_->MakeHome(nullptr);
  PartBuffer part = Take(*home, 100);
  PartBuffer other = Take(*home, 100);
  home.reset();
  pool_->Close();
  pool_.reset();
  part.bytes()[0] = 1;
  part = PartBuffer();
  other = PartBuffer();
  EXPECT_EQ(returned_, 0u);
}

}  // namespace
}  // namespace penstock
