#include "client/transport/shm/shared_payload.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cstring>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr size_t kSize = 65536;

UniqueFd Memory(size_t size, int seals) {
  UniqueFd fd(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(ftruncate(fd.get(), static_cast<off_t>(size)), 0);
  EXPECT_EQ(pwrite(fd.get(), "abcdef", 6, 0), 6);
  EXPECT_EQ(fcntl(fd.get(), F_ADD_SEALS, seals), 0);
  return fd;
}

constexpr int kAllSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

TEST(SharedMappingTest, ReadsWhatIsThere) {
  ASSERT_OK_AND_ASSIGN(auto mapping, SharedMapping::Map(Memory(kSize, kAllSeals)));
  EXPECT_EQ(mapping->bytes().size(), kSize);
  EXPECT_EQ(mapping->bytes()[2], 'c');
}

TEST(SharedMappingTest, RefusesMemoryThatCouldShrink) {
  for (int seals : {0, F_SEAL_GROW | F_SEAL_SEAL, F_SEAL_SHRINK | F_SEAL_GROW}) {
    EXPECT_THAT(SharedMapping::Map(Memory(kSize, seals)),
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("seals")));
  }
}

TEST(SharedMappingTest, RefusesFiles) {
  UniqueFd file(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE(SharedMapping::Map(file).ok());
}

TEST(SharedMappingTest, RefusesMemoryWithoutBytes) {
  UniqueFd fd(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(fcntl(fd.get(), F_ADD_SEALS, kAllSeals), 0);
  EXPECT_THAT(SharedMapping::Map(fd),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("0")));
}

class SharedPayloadTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(auto mapping, SharedMapping::Map(Memory(kSize, kAllSeals)));
    pool_ = std::make_shared<SharedPayloadPool>(
        std::move(mapping), [this](uint64_t offset) { acks_.push_back(offset); });
  }
  std::vector<uint64_t> acks_;
  std::shared_ptr<SharedPayloadPool> pool_;
};

TEST_F(SharedPayloadTest, CopiesAndAcknowledges) {
  {
    ASSERT_OK_AND_ASSIGN(auto payload, pool_->Take(1, 5));
    EXPECT_EQ(payload->size(), 5u);
    uint8_t out[2];
    payload->CopyTo(2, out);
    EXPECT_THAT(out, ElementsAre('d', 'e'));
    EXPECT_THAT(acks_, ElementsAre());
  }
  EXPECT_THAT(acks_, ElementsAre(1));
}

TEST_F(SharedPayloadTest, RefusesWhatLiesBeyond) {
  EXPECT_OK(pool_->Take(kSize - 1, 1));
  for (auto [offset, size] : {std::pair<uint64_t, uint32_t>{kSize - 1, 2},
                              {kSize + 1, 1},
                              {0, kSize + 1},
                              {UINT64_MAX, 2}}) {
    EXPECT_THAT(pool_->Take(offset, size),
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("offset")));
  }
}

TEST_F(SharedPayloadTest, OutlivesTheStreamAndThenSaysNothing) {
  ASSERT_OK_AND_ASSIGN(auto payload, pool_->Take(0, 6));
  pool_->Close();
  pool_.reset();
  uint8_t out[1];
  payload->CopyTo(5, out);
  EXPECT_EQ(out[0], 'f');
  payload.reset();
  EXPECT_THAT(acks_, ElementsAre());
}

}  // namespace
}  // namespace penstock
