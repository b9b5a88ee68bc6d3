#include "server/outbox.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

PartBuffer PartOf(uint64_t request) {
  PartBuffer part;
  part.request = request;
  return part;
}

uint64_t PopPart(Outbox& outbox) { return std::get<PartBuffer>(*outbox.Pop()).request; }

TEST(OutboxTest, ControlLeavesBeforePartsEachInOrder) {
  Outbox outbox;
  outbox.PushPart(PartOf(1));
  outbox.PushPart(PartOf(2));
  outbox.PushControl("a");
  outbox.PushControl("b");
  EXPECT_EQ(std::get<std::string>(*outbox.Pop()), "a");
  EXPECT_EQ(std::get<std::string>(*outbox.Pop()), "b");
  EXPECT_EQ(PopPart(outbox), 1u);
  EXPECT_EQ(PopPart(outbox), 2u);
  EXPECT_FALSE(outbox.Pop().has_value());
}

TEST(OutboxTest, RemovesOnlyThePartsOfOneRequest) {
  Outbox outbox;
  for (uint64_t request : {1, 2, 1, 3}) outbox.PushPart(PartOf(request));
  EXPECT_EQ(outbox.RemoveParts(1).size(), 2u);
  EXPECT_EQ(PopPart(outbox), 2u);
  EXPECT_EQ(PopPart(outbox), 3u);
}

}  // namespace
}  // namespace penstock
