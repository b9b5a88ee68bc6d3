#include "client/loader/incoming.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

constexpr IncomingLimits kLimits = {.messages = 10, .bytes = 1000};

class Bytes final : public PartPayload {
 public:
  explicit Bytes(size_t size) : size_(size) {}
  size_t size() const override { return size_; }
  void CopyTo(size_t, std::span<uint8_t>) const override {}
  uint32_t Crc32c() const override { return 0; }
  void Recycle() override { delete this; }

 private:
  const size_t size_;
};

ReceivedPart PartOf(size_t bytes) {
  ReceivedPart part;
  part.payload.reset(new Bytes(bytes));
  return part;
}

absl::Status Broken(const Incoming& item) {
  return std::get<StreamBroken>(std::get<StreamEvent>(item.what)).status;
}

class IncomingTest : public ::testing::Test {
 protected:
  std::vector<Incoming> Take() {
    std::vector<Incoming> items;
    EXPECT_TRUE(queue_.TakeAll(SteadyNow(), items));
    return items;
  }
  IncomingQueue queue_;
  StreamListener listener_{{0, 1}, queue_, kLimits};
};

TEST_F(IncomingTest, AServerThatSaysMoreThanItWasAskedIsHeardNoLonger) {
  for (int i = 0; i < 1000; ++i) listener_.OnEvent(WindowReady{7, 0});
  const std::vector<Incoming> items = Take();
  ASSERT_EQ(items.size(), kLimits.messages + 1);
  EXPECT_THAT(Broken(items.back()),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("11 messages")));
  listener_.OnEvent(Credit{1});
  listener_.OnEvent(StreamBroken{absl::UnavailableError("gone")});
  EXPECT_TRUE(Take().empty());
}

TEST_F(IncomingTest, BytesOfPartsAndOfErrorsCount) {
  listener_.OnPart(PartOf(900));
  StreamError error;
  error.request = 1;
  error.status = absl::InternalError(std::string(200, 'x'));
  listener_.OnEvent(error);
  const std::vector<Incoming> items = Take();
  ASSERT_EQ(items.size(), 2);
  EXPECT_THAT(Broken(items.back()),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("1100 bytes")));
}

TEST_F(IncomingTest, WhatWasTakenCountsNoLonger) {
  for (int round = 0; round < 100; ++round) {
    for (uint64_t i = 0; i < kLimits.messages; ++i) listener_.OnPart(PartOf(100));
    EXPECT_EQ(Take().size(), kLimits.messages);
  }
}

}  // namespace
}  // namespace penstock
