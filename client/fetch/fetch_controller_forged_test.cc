// Tests servers that send what no Penstock server sends. The client then gives their work to other
// servers, or the job ends.
#include "absl/strings/str_cat.h"
#include "client/fetch/testing/fetch_controller_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Matcher;

// A window that every run of the fixture's plan needs.
constexpr WindowId kWindow{0, 3, 1};

StreamError WithSpare(absl::Status status) {
  StreamError error;
  error.status = std::move(status);
  error.needs_spare = true;
  return error;
}

Damage RecordOf(uint32_t chunk, uint32_t record = 0, const std::string& shard = "s") {
  return {shard, chunk, record, /*rest_of_chunk=*/false};
}

class ForgedServerTest : public FetchControllerTest {
 protected:
  // "s" has a chunk of 40 records at each offset from 0 to 399.
  void KnowChunks() {
    controller_.find_damage = [](const Damage& damage) -> std::optional<ChunkRecords> {
      if (damage.shard != "s" || damage.chunk_offset >= 400) return std::nullopt;
      return ChunkRecords{static_cast<uint32_t>(damage.chunk_offset), 40};
    };
  }
  // The epoch's chunks, from those of kWindow on.
  std::vector<uint32_t> ChunksFromWindowOn() {
    const EpochOrder order = plan_->Epoch(kWindow.epoch);
    const auto own = order.WindowChunks(kWindow);
    std::vector<uint32_t> chunks(own.begin(), own.end());
    for (uint32_t i = 0; const auto spare = order.SpareChunk(kWindow, i); ++i) {
      chunks.push_back(*spare);
    }
    return chunks;
  }
  // `forge` makes server 0 a forged one. If it is alone, the job ends with `why`. If there is
  // another server, that one does all the work.
  template <typename Forge>
  void ExpectRefused(const Matcher<const std::string&>& why, const Forge& forge) {
    FakeFleet& alone = MakeFleet({.servers = 1, .part_rows = 16});
    forge(alone);
    EXPECT_FALSE(alone.Run());
    EXPECT_THAT(alone.failure(),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         AllOf(HasSubstr("every server refused this client"), why)));
    EXPECT_LT(alone.elapsed(), absl::Seconds(30));
    FakeFleet& helped = MakeFleet({.servers = 2, .part_rows = 16});
    forge(helped);
    EXPECT_TRUE(helped.Run()) << helped.violation() << helped.failure();
    EXPECT_GE(helped.controller().servers()[0].nonsense, 1u);
    EXPECT_THAT(helped.controller().replaced(), IsEmpty());
    EXPECT_THAT(helped.spares_used(), IsEmpty());
    EXPECT_LT(helped.elapsed(), absl::Seconds(30));
  }
};

// The part came again while its request was open, or after it was answered.
const Matcher<const std::string&> kCameTwice =
    AnyOf(HasSubstr("some of them twice"), HasSubstr("for an unknown request"));

TEST_F(ForgedServerTest, APartThatCameBeforeIsNoAnswer) {
  ExpectRefused(kCameTwice, [](FakeFleet& fleet) { fleet.RepeatParts(0); });
}

TEST_F(ForgedServerTest, APartOfAnAnsweredRequestIsNoAnswer) {
  ExpectRefused(kCameTwice, [](FakeFleet& fleet) { fleet.DuplicateParts(0, 0.1); });
}

TEST_F(ForgedServerTest, SayingTheSameCreditAgainIsWaitedForOnlySoLong) {
  FakeFleet& fleet = MakeFleet({.servers = 1, .credit_every = absl::Milliseconds(2500)});
  fleet.ForgetFetches(0);
  EXPECT_FALSE(fleet.Run());
  EXPECT_THAT(fleet.failure(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no server could be used")));
  EXPECT_GT(fleet.elapsed(), absl::Minutes(30));
  EXPECT_LT(fleet.elapsed(), absl::Minutes(35));
}

TEST_F(ForgedServerTest, SayingTheSameCreditAgainKeepsNoRowsFromOthers) {
  FakeFleet& fleet = MakeFleet({.servers = 2, .credit_every = absl::Milliseconds(2500)});
  fleet.ForgetFetches(0);
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
  EXPECT_LT(fleet.elapsed(), absl::Minutes(1));
}

TEST_F(ForgedServerTest, OnlyDataLossCallsForASpare) {
  for (const OnError on_error : {OnError::kFail, OnError::kReplace}) {
    controller_.on_error = on_error;
    ExpectRefused(HasSubstr("NOT_FOUND with `needs_spare`"), [](FakeFleet& fleet) {
      fleet.FailWindows(0, 1'000'000, WithSpare(absl::NotFoundError("gone")));
    });
  }
}

TEST_F(ForgedServerTest, OnlyDataLossNamesARecord) {
  StreamError error;
  error.status = absl::UnavailableError("i/o error");
  error.damage = RecordOf(1);
  ExpectRefused(HasSubstr("UNAVAILABLE with `damage`"),
                [&](FakeFleet& fleet) { fleet.FailWindows(0, 1'000'000, error); });
}

TEST_F(ForgedServerTest, ARecordOutsideTheWindowIsNotDamaged) {
  KnowChunks();
  MakeFleet();  // Makes the plan.
  const std::vector<uint32_t> chunks = ChunksFromWindowOn();
  for (const Damage& damage :
       {RecordOf(chunks[0], 40), RecordOf(chunks[8]), RecordOf(400), RecordOf(chunks[0], 0, "t")}) {
    for (const OnError on_error : {OnError::kFail, OnError::kReplace}) {
      controller_.on_error = on_error;
      ExpectRefused(HasSubstr("damage outside of window 1 of lane 3 in epoch 0"),
                    [&](FakeFleet& fleet) { fleet.DamageWindow(0, kWindow, damage); });
    }
  }
}

TEST_F(ForgedServerTest, AWindowOfRecordsThatNobodyCalledDamagedNeedsNoSpare) {
  KnowChunks();
  for (const OnError on_error : {OnError::kFail, OnError::kReplace}) {
    controller_.on_error = on_error;
    ExpectRefused(HasSubstr("0 of 40 records"), [](FakeFleet& fleet) {
      fleet.FailWindows(0, 1'000'000, WithSpare(absl::DataLossError("none is good")));
    });
  }
}

// These servers are not forged: servers that agree are believed, and the loss of a chunk is
// detected only once.
TEST_F(ForgedServerTest, AChunkThatIsLostIsNoSpareForAnyWindow) {
  KnowChunks();
  controller_.on_error = OnError::kReplace;
  FakeFleet& fleet = MakeFleet({.servers = 2});
  const std::vector<uint32_t> chunks = ChunksFromWindowOn();
  constexpr size_t kLost = 32;  // Four windows.
  for (uint32_t s : {0, 1}) fleet.LoseChunks(s, {chunks.begin(), chunks.begin() + kLost});
  EXPECT_TRUE(fleet.Run()) << fleet.violation() << fleet.failure();
  EXPECT_EQ(fleet.controller().replaced().size(), kLost);
  EXPECT_EQ(fleet.spares_used().size(), kLost / 8);
  for (const auto& [window, spares] : fleet.spares_used()) {
    EXPECT_THAT(spares, ElementsAre(chunks[kLost]));
  }
  // Each lost chunk is reported by two servers, and then its window is opened once more. 50 windows
  // are undamaged.
  EXPECT_LE(fleet.windows_opened(), 50 + 4 * kLost);
}

}  // namespace
}  // namespace penstock
