// Single events, each as a server might send it, and the commands that follow.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "client/fetch/testing/fetch_controller_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

// Records commands in order.
class NotingActions final : public FetchActions {
 public:
  void OpenStream(StreamId stream, const std::string&) override { streams.push_back(stream); }
  void CloseStream(StreamId) override {}
  void OpenWindow(StreamId stream, const WindowRequest& window) override {
    windows.emplace_back(stream, window.number);
  }
  void ReleaseWindow(StreamId, uint64_t) override {}
  void Fetch(StreamId stream, const FetchRequest& fetch) override {
    fetches.emplace_back(stream, fetch);
  }
  void Cancel(StreamId, uint64_t) override {}
  void Deliver(const ReadyStep&) override {}
  void Finish() override {}
  void Fail(absl::Status status) override { failures.push_back(std::move(status)); }

  std::vector<StreamId> streams;
  std::vector<std::pair<StreamId, uint64_t>> windows;
  std::vector<std::pair<StreamId, FetchRequest>> fetches;
  std::vector<absl::Status> failures;
};

// Two servers have sent Hello, and `actions_` has recorded the requests to them. The plan has one
// lane, so one server has all windows at first.
class FetchControllerEventsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    controller_.Advance(now_);
    for (const StreamId stream : std::vector<StreamId>(actions_.streams)) {
      controller_.OnCredit(now_, stream, 1 << 20);
      ServerInfo info;
      info.cores = 4;
      info.instance = stream.server + 1;
      controller_.OnHello(now_, stream, info);
    }
    Pass(absl::Seconds(1));
    ASSERT_THAT(actions_.windows, SizeIs(testing::Ge(1)));
    ASSERT_THAT(actions_.fetches, SizeIs(testing::Ge(1)));
  }
  void Pass(absl::Duration time) {
    now_ += time;
    AdvanceTo(controller_, now_);
  }
  // Returns where the first rows of a part belong.
  RowCopy Answer(StreamId stream, uint64_t request, uint32_t first_row, uint32_t rows) {
    const auto part = controller_.OnPart(now_, stream, request, first_row, rows);
    const std::vector<RowCopy> copies(part.begin(), part.end());
    controller_.OnPartCopied(copies);
    return copies.empty() ? RowCopy() : copies[0];
  }

  const Plan plan_ = *Plan::Create(Chunks(8, 40), {.lanes = 1, .window_chunks = 1});
  NotingActions actions_;
  FetchController controller_{plan_,
                              *Steps::Create(plan_.rows(), {.global_batch_size = 40}),
                              {.servers = {"a:1", "b:1"}, .num_slots = 2, .row_bytes = 200},
                              actions_};
  absl::Time now_ = absl::UnixEpoch();
};

// The server drains, and its windows already belong to the other one.
TEST_F(FetchControllerEventsTest, AnErrorOfAServerThatHasLostTheWindowIsNotHeard) {
  const auto stream = actions_.windows[0].first;
  const auto window = actions_.windows[0].second;
  controller_.OnDraining(now_, stream, absl::Seconds(5));
  Pass(absl::Milliseconds(1));
  const auto now = std::find_if(actions_.windows.begin(), actions_.windows.end(), [&](auto& its) {
    return its.second == window && !(its.first == stream);
  });
  ASSERT_NE(now, actions_.windows.end());
  StreamError error;
  error.window = window;
  error.status = absl::InvalidArgumentError("it is gone");
  controller_.OnError(now_, stream, error);
  EXPECT_THAT(actions_.failures, IsEmpty());
  controller_.OnError(now_, now->first, error);
  EXPECT_THAT(actions_.failures, SizeIs(1));
}

TEST_F(FetchControllerEventsTest, WhatIsLeftOfAnAnswerIsNeededLater) {
  const auto [stream, fetch] = actions_.fetches[0];
  controller_.OnWindowReady(now_, stream, fetch.window);
  const RowCopy first = Answer(stream, fetch.request, 0, 7);
  controller_.OnBroken(now_, stream, absl::UnavailableError("reset"));
  actions_.fetches.clear();
  Pass(absl::Seconds(1));
  ASSERT_THAT(actions_.fetches, SizeIs(testing::Ge(1)));
  const auto& [other, again] = actions_.fetches[0];
  EXPECT_EQ(again.first_row, fetch.first_row + 7);
  EXPECT_EQ(again.rows, fetch.rows - 7);
  EXPECT_EQ(again.needed_at, fetch.needed_at + 7);
  const RowCopy rest = Answer(other, again.request, 0, again.rows);
  EXPECT_EQ(rest.slot, first.slot);
  EXPECT_EQ(rest.slot_row, first.slot_row + 7);
}

}  // namespace
}  // namespace penstock
