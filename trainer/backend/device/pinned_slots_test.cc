#include "trainer/backend/device/pinned_slots.h"

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/backend/device/forwarding_device.h"
#include "trainer/backend/device/testing/emulated_device.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr size_t kMost = size_t{1} << 20;  // Most bytes that the device can lock at a time.

// Records waits and freed memory.
class NotingDevice final : public ForwardingDevice {
 public:
  explicit NotingDevice(std::vector<std::string>& calls)
      : ForwardingDevice(
            std::make_unique<EmulatedDevice>(EmulatedDeviceOptions{.most_host_bytes = kMost})),
        calls_(calls) {}
  absl::Status Synchronize(DeviceQueue queue) override {
    calls_.push_back(queue == DeviceQueue::kCopy ? "copies are over" : "computing is over");
    return ForwardingDevice::Synchronize(queue);
  }
  void FreeHost(void* memory) override {
    calls_.push_back("free");
    ForwardingDevice::FreeHost(memory);
  }

 private:
  std::vector<std::string>& calls_;
};

class PinnedSlotsTest : public testing::Test {
 protected:
  std::vector<std::string> calls_;
  NotingDevice device_{calls_};
  PinnedSlots slots_{device_};
};

TEST_F(PinnedSlotsTest, MemoryIsFreedOnceNothingIsSentFromIt) {
  ASSERT_OK_AND_ASSIGN(uint8_t* const memory, slots_.Allocate(100));
  EXPECT_TRUE(slots_.Contains(memory, 100));
  slots_.Free(memory, 100);
  EXPECT_THAT(calls_, ElementsAre("copies are over", "free"));
  EXPECT_FALSE(slots_.Contains(memory, 100));
}

TEST_F(PinnedSlotsTest, ARefusalIsToldAlsoWhereOthersWereLocked) {
  ASSERT_OK_AND_ASSIGN(uint8_t* const locked, slots_.Allocate(kMost));
  EXPECT_THAT(slots_.Describe(), Not(HasSubstr("could not be locked")));
  ASSERT_OK_AND_ASSIGN(uint8_t* const plain, slots_.Allocate(kMost + 1));
  EXPECT_THAT(slots_.Describe(), AllOf(HasSubstr("sent from the loader's slots, except from some"),
                                       HasSubstr("could not be locked (1048577 bytes")));
  slots_.Free(locked, kMost);
  EXPECT_THAT(slots_.Describe(), HasSubstr("every batch is copied there first"));
  slots_.Free(plain, kMost + 1);
}

}  // namespace
}  // namespace penstock
