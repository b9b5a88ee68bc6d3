#include "client/fetch/slot_queue.h"

#include <vector>

#include "client/fetch/testing/idle_actions.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Step StepOf(uint64_t rows) {
  Step step;
  step.rank_rows = rows;
  return step;
}

class SlotQueueTest : public ::testing::Test {
 protected:
  uint32_t Take(uint64_t rows = 4) { return slots_.Take(StepOf(rows)).slot; }
  void Copy(uint32_t slot, uint32_t rows) { slots_.NoteCopied({0, rows, slot, 0}); }
  std::vector<uint64_t> Deliver() {
    actions_.delivered.clear();
    slots_.DeliverReady(actions_);
    return actions_.delivered;
  }

  SlotQueue slots_{/*num_slots=*/2, /*num_steps=*/3};
  IdleActions actions_;
};

TEST_F(SlotQueueTest, DeliversInOrderWhicheverFillsFirst) {
  const uint32_t first = Take();
  const uint32_t second = Take();
  Copy(second, 4);
  EXPECT_THAT(Deliver(), IsEmpty());
  Copy(first, 3);
  EXPECT_THAT(Deliver(), IsEmpty());
  Copy(first, 1);
  EXPECT_THAT(Deliver(), ElementsAre(0, 1));
  EXPECT_FALSE(slots_.HasUndelivered());
}

TEST_F(SlotQueueTest, TakesASlotAgainOnlyAfterItsRelease) {
  const uint32_t first = Take();
  Take();
  Copy(first, 4);
  EXPECT_THAT(Deliver(), ElementsAre(0));
  EXPECT_FALSE(slots_.CanTake());
  slots_.Release(first);
  ASSERT_TRUE(slots_.CanTake());
  EXPECT_EQ(Take(), first);
  EXPECT_TRUE(slots_.AllTaken());
  EXPECT_FALSE(slots_.AllDelivered());
}

TEST_F(SlotQueueTest, AStepWithoutRowsIsReadyAtOnce) {
  Take(0);
  EXPECT_THAT(Deliver(), ElementsAre(0));
}

TEST_F(SlotQueueTest, StepsThatTheConsumerWaitsForAreNeededSoon) {
  EXPECT_EQ(slots_.Soon(), 1u);
  slots_.NoteWaiting(1);
  EXPECT_EQ(slots_.waited_for(), 2u);
  EXPECT_EQ(slots_.Soon(), 2u);
  slots_.NoteWaiting(0);  // An outdated message.
  EXPECT_EQ(slots_.waited_for(), 2u);
}

}  // namespace
}  // namespace penstock
