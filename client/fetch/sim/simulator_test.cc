// Tests that the simulator detects what it is meant to detect.
#include <memory>
#include <string>
#include <vector>

#include "client/fetch/sim/event_queue.h"
#include "client/fetch/sim/fleet.h"
#include "client/fetch/sim/network.h"
#include "client/fetch/sim/sim_server.h"
#include "client/fetch/sim/step_checker.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ChunkTable Chunks(uint32_t chunks, uint32_t rows) {
  return {std::vector<uint32_t>(chunks, rows), std::vector<uint32_t>(chunks, rows * 200), 1};
}

// The plan has one lane, windows of one chunk of eight rows, and steps of eight rows. So step i is
// window i.
class StepCheckerTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kRows = 8;

  std::vector<uint64_t> Window(uint32_t index) const {
    std::vector<uint64_t> content;
    for (uint32_t row = 0; row < kRows; ++row) {
      content.push_back(RowContent({.epoch = 0, .lane = 0, .index = index}, row));
    }
    return content;
  }
  std::string Deliver(uint64_t step, uint32_t slot) {
    return checker_.Deliver({.index = step, .slot = slot, .step = steps_.At(step)});
  }

  const Plan plan_ = *Plan::Create(Chunks(4, kRows), {.shuffle = false});
  const Steps steps_ = *Steps::Create(plan_.rows(), {.global_batch_size = kRows});
  StepChecker checker_{plan_, steps_, 2};
};

TEST_F(StepCheckerTest, AcceptsThePlansRows) {
  EXPECT_EQ(checker_.Copy({.part_row = 0, .rows = kRows, .slot = 1, .slot_row = 0}, Window(0)), "");
  EXPECT_EQ(Deliver(0, 1), "");
}

TEST_F(StepCheckerTest, FindsARowOfAnotherWindow) {
  EXPECT_EQ(checker_.Copy({.part_row = 0, .rows = kRows, .slot = 0, .slot_row = 0}, Window(1)), "");
  EXPECT_THAT(Deliver(0, 0), HasSubstr("row 0 is another row, not 0/0/0 row 0"));
}

TEST_F(StepCheckerTest, FindsARowThatNeverCame) {
  EXPECT_EQ(checker_.Copy({.part_row = 0, .rows = 7, .slot = 0, .slot_row = 0}, Window(0)), "");
  EXPECT_THAT(Deliver(0, 0), HasSubstr("row 7 is empty"));
}

TEST_F(StepCheckerTest, FindsARowThatCameTwice) {
  EXPECT_EQ(checker_.Copy({.part_row = 0, .rows = 4, .slot = 0, .slot_row = 0}, Window(0)), "");
  EXPECT_THAT(checker_.Copy({.part_row = 3, .rows = 1, .slot = 0, .slot_row = 3}, Window(0)),
              HasSubstr("filled twice"));
}

TEST_F(StepCheckerTest, FindsAWriteToWhatTheConsumerHas) {
  EXPECT_EQ(checker_.Copy({.part_row = 0, .rows = kRows, .slot = 0, .slot_row = 0}, Window(0)), "");
  EXPECT_EQ(Deliver(0, 0), "");
  EXPECT_THAT(checker_.Copy({.part_row = 0, .rows = 1, .slot = 0, .slot_row = 0}, Window(0)),
              HasSubstr("while it is consumed"));
}

TEST_F(StepCheckerTest, FindsAStepOutOfOrder) {
  EXPECT_EQ(checker_.Copy({.part_row = 0, .rows = kRows, .slot = 0, .slot_row = 0}, Window(1)), "");
  EXPECT_THAT(Deliver(1, 0), HasSubstr("where step 0 was due"));
}

// A server alone, with a listener for its messages.
class SimServerTest : public ::testing::Test, public Surroundings {
 protected:
  SimServerTest() : server_(0, Model(), queue_, *this, 1) {
    server_.Start();
    server_.Accept(session_);
    server_.OpenWindow(session_, 5, Window(2, 20));
  }
  static OpenedWindow Window(uint32_t lane, uint32_t rows) {
    OpenedWindow window;
    window.id = {.epoch = 0, .lane = lane, .index = 0};
    window.rows = rows;
    return window;
  }
  static ServerModel Model() {
    ServerModel model;
    model.part_rows = 8;
    model.max_windows = 2;
    return model;
  }
  void Tell(const std::shared_ptr<Session>&, Message message) override {
    if (const auto* part = std::get_if<SaysPart>(&message)) parts_.push_back(*part);
    if (std::holds_alternative<absl::Status>(message)) ended_ = true;
  }
  void Violate(const std::string& what) override { violation_ = what; }
  bool logs() const override { return false; }
  void Log(const std::string&) override {}
  void RunAll() {
    while (queue_.Step()) continue;
  }

  EventQueue queue_;
  std::shared_ptr<Session> session_ = std::make_shared<Session>();
  std::vector<SaysPart> parts_;
  bool ended_ = false;
  std::string violation_;
  SimServer server_;
};

TEST_F(SimServerTest, AnswersInPartsOfTheRightRows) {
  server_.Fetch(session_,
                {.request = 1, .window = 5, .first_row = 3, .rows = 4, .stride = 6, .count = 3});
  RunAll();
  ASSERT_EQ(parts_.size(), 2u);
  EXPECT_EQ(parts_[0].rows + parts_[1].rows, 12u);
  EXPECT_EQ(parts_[1].first_row, 8u);
  const WindowId window{.epoch = 0, .lane = 2, .index = 0};
  EXPECT_THAT(parts_[1].content, ElementsAre(RowContent(window, 15), RowContent(window, 16),
                                             RowContent(window, 17), RowContent(window, 18)));
}

TEST_F(SimServerTest, NoticesARequestBeyondTheWindow) {
  server_.Fetch(session_, {.request = 1, .window = 5, .first_row = 18, .rows = 3});
  EXPECT_THAT(violation_, HasSubstr("up to 21 of 20"));
}

TEST_F(SimServerTest, NoticesAWindowThatIsNotOpen) {
  server_.Fetch(session_, {.request = 1, .window = 6, .rows = 1});
  EXPECT_THAT(violation_, HasSubstr("window 6, which is not open"));
}

TEST_F(SimServerTest, NoticesTooManyWindows) {
  server_.OpenWindow(session_, 6, Window(6, 1));
  EXPECT_EQ(violation_, "");
  server_.OpenWindow(session_, 7, Window(7, 1));
  EXPECT_THAT(violation_, HasSubstr("more than 2 windows"));
}

TEST_F(SimServerTest, AStalledOneAnswersWhenItResumes) {
  server_.Stall();
  server_.Fetch(session_, {.request = 1, .window = 5, .rows = 1});
  RunAll();
  EXPECT_TRUE(parts_.empty());
  server_.Resume();
  RunAll();
  EXPECT_EQ(parts_.size(), 1u);
}

TEST_F(SimServerTest, ADeadOneAnswersNothing) {
  server_.Fetch(session_, {.request = 1, .window = 5, .rows = 1});
  server_.Kill(absl::UnavailableError("connection reset"));
  RunAll();
  EXPECT_TRUE(ended_);
  EXPECT_TRUE(parts_.empty());
}

TEST(NetworkTest, AStreamKeepsItsOrderAndACutOneWaits) {
  EventQueue queue;
  Network network(queue, {.jitter = absl::Milliseconds(50)}, 1);
  Session session;
  std::vector<int> arrived;
  network.Cut(0, 0, Direction::kToServer);
  for (int i = 0; i < 20; ++i) {
    network.Send(session, Direction::kToServer, 1, [&arrived, i] { arrived.push_back(i); });
  }
  while (queue.Step()) continue;
  EXPECT_TRUE(arrived.empty());
  network.Heal(0, 0);
  while (queue.Step()) continue;
  EXPECT_EQ(arrived.size(), 20u);
  EXPECT_TRUE(std::is_sorted(arrived.begin(), arrived.end()));
}

TEST(FleetTest, NoticesARankThatStarvesBesideAHealthyServer) {
  FleetModel model;
  model.servers.resize(1);
  model.servers[0].row_cost = absl::Hours(1);
  model.patience = absl::Seconds(5);
  Fleet fleet(model);
  const Plan plan = *Plan::Create(Chunks(4, 8), {});
  RankOptions options;
  options.controller.servers = {Fleet::Address(0)};
  fleet.AddRank(plan, *Steps::Create(plan.rows(), {.global_batch_size = 8}), options);
  fleet.Run();
  EXPECT_THAT(fleet.violation(), HasSubstr("starved"));
}

TEST(FleetTest, NoticesARequestToAServerThatDrains) {
  FleetModel model;
  model.servers.resize(1);
  model.servers[0].row_cost = absl::Hours(1);
  Fleet fleet(model);
  const Plan plan = *Plan::Create(Chunks(4, 8), {});
  RankOptions options;
  options.controller.servers = {Fleet::Address(0)};
  SimRank& rank =
      fleet.AddRank(plan, *Steps::Create(plan.rows(), {.global_batch_size = 8}), options);
  const absl::Time start = absl::UnixEpoch();
  fleet.queue().At(start + absl::Seconds(1), [&] { fleet.server(0).Drain(absl::Hours(1)); });
  fleet.queue().At(start + absl::Seconds(2), [&] {
    rank.Fetch({.server = 0, .generation = 1}, {.request = 1'000'000, .window = 1, .rows = 1});
  });
  fleet.Run(start + absl::Seconds(3));
  EXPECT_THAT(fleet.violation(), HasSubstr("asks more of a server that drains"));
}

}  // namespace
}  // namespace penstock::sim
