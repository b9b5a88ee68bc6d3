#include "trainer/cuda/staged_communicator.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/comm/testing/rank_threads.h"
#include "trainer/cuda/testing/host_stream.h"

namespace penstock {
namespace {

using testing::Each;
using testing::HasSubstr;

TEST(StagedCommunicatorTest, EveryByteIsCopiedOnceEachWay) {
  RunRanks(2, [](RankGroup& group) {
    HostStream stream;
    StagedCommunicator ranks(group.communicator(), stream);
    EXPECT_EQ(ranks.memory(), Communicator::Memory::kDevice);
    std::vector<uint8_t> own(1000, uint8_t(1 + ranks.rank())), theirs(1000);
    const size_t other = 1 - ranks.rank();
    const Communicator::Outgoing out{other, own};
    const Communicator::Incoming in{other, theirs};
    ASSERT_OK(ranks.Exchange({&out, 1}, {&in, 1}));
    EXPECT_THAT(theirs, Each(uint8_t(1 + other)));
    EXPECT_EQ(stream.copied(), 2000u);
  });
}

TEST(StagedCommunicatorTest, ADeviceThatIsNeverDoneEndsTheExchange) {
  SingleCommunicator host;
  HostStream stream;
  ++static_cast<FakeStream*>(stream.handle())->pending;
  StagedCommunicator ranks(host, stream, absl::Milliseconds(50));
  uint8_t a[4] = {}, b[4] = {};
  const Communicator::Outgoing out{0, a};
  const Communicator::Incoming in{0, b};
  const auto late =
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("did not finish its work within 50ms"));
  EXPECT_THAT(ranks.Exchange({&out, 1}, {&in, 1}), late);
  // A copy in flight may still arrive, in memory that the next exchange would use.
  --static_cast<FakeStream*>(stream.handle())->pending;
  EXPECT_THAT(ranks.Exchange({&out, 1}, {&in, 1}), late);
  EXPECT_THAT(ranks.Barrier(), late);
}

}  // namespace
}  // namespace penstock
