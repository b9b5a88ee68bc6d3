#include "client/fetch/command_buffer.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "client/plan/plan.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;

// Records windows as they are carried out.
struct Windows {
  void OpenStream(StreamId, const std::string& address) { log.push_back(address); }
  void CloseStream(StreamId) { log.push_back("close"); }
  void OpenWindow(StreamId, const WindowRequest& window) {
    log.push_back(
        absl::StrCat("open in epoch ", window.order->epoch(), " without ", window.damaged.size()));
  }
  void ReleaseWindow(StreamId, uint64_t) { log.push_back("release"); }
  void Fetch(StreamId, const FetchRequest& fetch) {
    log.push_back(absl::StrCat("fetch ", fetch.request));
  }
  void Cancel(StreamId, uint64_t) { log.push_back("cancel"); }
  void Deliver(const ReadyStep&) { log.push_back("deliver"); }
  void Finish() { log.push_back("finish"); }
  void Fail(const absl::Status& status) { log.push_back(std::string(status.message())); }
  void Report(absl::string_view line) { log.emplace_back(line); }

  std::vector<std::string> log;
};

std::string NoNames(std::span<const uint32_t>) { return ""; }

TEST(CommandBufferTest, CarriesOutInOrderAndOnce) {
  CommandBuffer buffer(NoNames);
  buffer.OpenStream({1, 1}, "a:1");
  buffer.Fetch({1, 1}, {.request = 7});
  buffer.Cancel({1, 1}, 7);
  buffer.Fail(absl::AbortedError("broken"));
  buffer.CloseStream({1, 1});
  Windows windows;
  buffer.CarryOut({}, windows);
  EXPECT_THAT(windows.log, ElementsAre("a:1", "fetch 7", "cancel", "broken", "close"));
  buffer.CarryOut({}, windows);
  EXPECT_EQ(windows.log.size(), 5u);
  EXPECT_TRUE(buffer.empty());
}

// Meanwhile the plan's walk may have left the epoch, and the list of damaged records may have
// moved.
TEST(CommandBufferTest, AWindowKeepsItsOrderAndItsDamage) {
  const Plan plan =
      *Plan::Create({std::vector<uint32_t>(8, 4), std::vector<uint32_t>(8, 80), 1}, {});
  CommandBuffer buffer(NoNames);
  {
    std::vector<Damage> damaged(1);
    auto order = std::make_shared<const EpochOrder>(plan.Epoch(3));
    buffer.OpenWindow({}, {.number = 1, .id = {3, 0, 0}, .order = order, .damaged = damaged});
  }
  const std::vector<Damage> more(2);
  Windows windows;
  buffer.CarryOut(more, windows);
  EXPECT_THAT(windows.log, ElementsAre("open in epoch 3 without 1"));
}

}  // namespace
}  // namespace penstock
