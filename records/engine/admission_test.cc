#include "records/engine/admission.h"

#include <chrono>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "records/engine/testing/recorder.h"

namespace penstock {
namespace {

using Phase = WindowState::Phase;

constexpr uint64_t kChunkBytes = 512 + 2;  // The record has no features; the shard is "s".
constexpr auto kIdlePin = std::chrono::seconds(30);
constexpr auto kStay = std::chrono::seconds(1);

// The scheduler's part, without its threads. No two windows share a chunk.
class AdmissionTest : public ::testing::Test {
 protected:
  AdmissionTest() { SetBudget(4); }

  void SetBudget(uint64_t chunks) {
    admission_ = std::make_unique<Admission>(chunks * kChunkBytes, kIdlePin, kStay);
  }
  SessionState& AddSession() {
    sessions_.push_back(std::make_unique<SessionState>(client_, nullptr));
    sessions_.back()->layout = layout_;
    turns_.Add(*sessions_.back());
    return *sessions_.back();
  }
  WindowState& Open(SessionState& session, uint32_t chunks, uint64_t needed_at) {
    windows_.push_back(std::make_unique<WindowState>());
    WindowState& window = *windows_.back();
    window.session = &session;
    window.sequence = windows_.size();
    window.needed_at = needed_at;
    window.definition.shards.push_back({.path = "s"});
    window.bytes = chunks * kChunkBytes;
    for (; chunks > 0; --chunks) {
      window.definition.chunks.push_back({.offset = ++chunks_, .size = 1, .records = 1});
    }
    admission_->Enqueue(window);
    return window;
  }
  WindowState& OpenAndUse(SessionState& session, uint32_t chunks, uint64_t needed_at) {
    WindowState& window = Open(session, chunks, needed_at);
    admission_->Use(window, now_);
    return window;
  }
  // Does what the scheduler does before it looks for work.
  void Run() {
    if (admission_->MayAdmit(now_)) admission_->Run(turns_, now_);
  }
  static bool IsAdmitted(const WindowState& window) { return window.phase == Phase::kLoading; }

  Recorder client_;
  const std::shared_ptr<const ChunkLayout> layout_ =
      std::make_shared<const ChunkLayout>(std::span<const FeatureUse>(), "", 0);
  std::vector<std::unique_ptr<SessionState>> sessions_;
  PartLedger parts_;
  Turns turns_{EngineLimits{}, parts_, /*share_parts=*/false};
  std::vector<std::unique_ptr<WindowState>> windows_;
  std::unique_ptr<Admission> admission_;
  Admission::Clock::time_point now_ = Admission::Clock::now();
  uint64_t chunks_ = 0;
};

TEST_F(AdmissionTest, SessionsTakeTurnsEachWithItsEarliestNeeded) {
  SessionState &one = AddSession(), &two = AddSession();
  WindowState &late = Open(one, 1, 50), &early = Open(one, 1, 10), &middle = Open(one, 1, 20);
  WindowState &first = Open(two, 1, 98), &second = Open(two, 1, 99);
  Run();
  EXPECT_TRUE(IsAdmitted(early) && IsAdmitted(first) && IsAdmitted(middle) && IsAdmitted(second));
  EXPECT_FALSE(IsAdmitted(late));
  admission_->Withdraw(second);
  Run();
  EXPECT_TRUE(IsAdmitted(late));
}

TEST_F(AdmissionTest, WindowsThatAreReadComeBeforeThoseAnnounced) {
  SessionState& session = AddSession();
  WindowState &announced = Open(session, 3, 1), &read = OpenAndUse(session, 3, 2);
  Run();
  EXPECT_TRUE(IsAdmitted(read) && !IsAdmitted(announced));
}

TEST_F(AdmissionTest, SmallerOnesOvertakeOnlyWhereAnotherClientReadsThem) {
  SessionState &one = AddSession(), &two = AddSession();
  OpenAndUse(one, 2, 1);
  Run();
  WindowState &large = OpenAndUse(one, 4, 2), &own = OpenAndUse(one, 1, 3);
  WindowState& other = OpenAndUse(two, 1, 9);
  WindowState &announced = Open(two, 4, 10), &small = Open(two, 1, 11);
  Run();
  EXPECT_TRUE(IsAdmitted(other));
  EXPECT_FALSE(IsAdmitted(large) || IsAdmitted(own) || IsAdmitted(announced) || IsAdmitted(small));
}

TEST_F(AdmissionTest, AnnouncedWindowsYieldLastReadyFirst) {
  SessionState& session = AddSession();
  WindowState &first = Open(session, 2, 1), &second = Open(session, 2, 2);
  Run();
  for (WindowState* window : {&first, &second}) admission_->SetReady(*window, now_);
  WindowState& read = OpenAndUse(session, 2, 9);
  Run();
  EXPECT_TRUE(IsAdmitted(read));
  EXPECT_EQ(first.phase, Phase::kReady);
  EXPECT_EQ(second.phase, Phase::kYielded);
}

TEST_F(AdmissionTest, AnAnnouncedWindowYieldsAsSoonAsItIsReady) {
  SessionState& session = AddSession();
  WindowState& announced = Open(session, 3, 1);
  Run();
  WindowState& read = OpenAndUse(session, 3, 2);
  Run();
  EXPECT_FALSE(IsAdmitted(read)) << "what loads is not taken";
  admission_->SetReady(announced, now_);
  Run();
  EXPECT_TRUE(IsAdmitted(read));
}

// Otherwise a client with large definitions would never have a window ready.
TEST_F(AdmissionTest, OneAnnouncedWindowIsAdmittedWhateverDefinitionsTake) {
  SessionState& session = AddSession();
  admission_->store().Hold(2 * kChunkBytes);
  WindowState &first = Open(session, 4, 1), &second = Open(session, 1, 2);
  Run();
  EXPECT_TRUE(IsAdmitted(first));
  admission_->Withdraw(first);
  Run();
  EXPECT_TRUE(IsAdmitted(second));
  WindowState &third = Open(session, 2, 3), &read = OpenAndUse(session, 2, 4);
  Run();
  EXPECT_FALSE(IsAdmitted(third)) << "definitions count beside what is pinned";
  EXPECT_TRUE(IsAdmitted(read));
}

TEST_F(AdmissionTest, WindowsThatWereNotReadForAWhileYieldLongestFirst) {
  SessionState &one = AddSession(), &two = AddSession();
  WindowState &first = OpenAndUse(one, 2, 1), &second = OpenAndUse(one, 2, 2);
  Run();
  for (WindowState* window : {&first, &second}) admission_->SetReady(*window, now_);
  now_ += kIdlePin / 2;
  admission_->Touch(first, now_);
  WindowState& waiting = Open(two, 1, 1);
  Run();
  EXPECT_FALSE(IsAdmitted(waiting));
  EXPECT_EQ(admission_->next_change(), second.last_used + kIdlePin);
  now_ = admission_->next_change();
  Run();
  EXPECT_TRUE(IsAdmitted(waiting));
  EXPECT_EQ(first.phase, Phase::kReady);
  EXPECT_EQ(second.phase, Phase::kYielded);
}

// A client may learn of its rows before the job that brought them has ended.
TEST_F(AdmissionTest, WhatAJobHeldYieldsOnceItEnds) {
  SessionState &one = AddSession(), &two = AddSession();
  WindowState& held = OpenAndUse(one, 3, 1);
  Run();
  admission_->SetReady(held, now_);
  held.active = 1;
  WindowState& waiting = OpenAndUse(two, 3, 1);
  Run();
  EXPECT_FALSE(IsAdmitted(waiting));
  held.active = 0;
  admission_->NoteIdle(held);
  Run();
  EXPECT_TRUE(IsAdmitted(waiting));
  EXPECT_EQ(held.phase, Phase::kYielded);
}

// Two sessions read two windows each, but only three windows fit.
TEST_F(AdmissionTest, SessionsWhoseWindowsDoNotFitTogetherHaveTheirsInTurns) {
  SetBudget(3);
  SessionState &one = AddSession(), &two = AddSession();
  WindowState& first = OpenAndUse(one, 1, 1);
  WindowState& other = OpenAndUse(two, 1, 1);
  Run();
  for (WindowState* window : {&first, &other}) admission_->SetReady(*window, now_);
  WindowState &second = OpenAndUse(one, 1, 2), &own = OpenAndUse(two, 1, 2);
  Run();
  EXPECT_TRUE(IsAdmitted(second));
  EXPECT_TRUE(IsAdmitted(own)) << "which took the place of the first session's window";
  EXPECT_EQ(first.phase, Phase::kYielded);
  admission_->SetReady(second, now_);
  admission_->SetReady(own, now_);
  // Rows of the first window are requested again. The window must wait for the end of the other
  // session's stay.
  admission_->Enqueue(first);
  Run();
  EXPECT_FALSE(IsAdmitted(first));
  EXPECT_EQ(admission_->next_change(), now_ + kStay);
  now_ = admission_->next_change() - std::chrono::milliseconds(1);
  Run();
  EXPECT_FALSE(IsAdmitted(first));
  now_ += std::chrono::milliseconds(1);
  Run();
  EXPECT_TRUE(IsAdmitted(first));
  EXPECT_EQ(other.phase, Phase::kYielded);
  EXPECT_EQ(second.phase, Phase::kReady);
}

TEST_F(AdmissionTest, AStayBeginsWhenAllWindowsAreLoadedAndEndsThoughTheyNeverAre) {
  SetBudget(2);
  SessionState &one = AddSession(), &two = AddSession();
  WindowState& window = OpenAndUse(one, 2, 1);
  Run();
  admission_->SetReady(window, now_);
  WindowState& large = OpenAndUse(two, 2, 1);
  Run();
  EXPECT_TRUE(IsAdmitted(large));
  admission_->Enqueue(window);
  now_ += 5 * kStay;
  Run();
  EXPECT_FALSE(IsAdmitted(window)) << "the other one is still loading";
  admission_->SetReady(large, now_);
  Run();
  EXPECT_EQ(admission_->next_change(), now_ + kStay);
  now_ += kStay;
  Run();
  EXPECT_TRUE(IsAdmitted(window));
  admission_->Enqueue(large);
  now_ += kIdlePin;
  Run();
  EXPECT_FALSE(IsAdmitted(large)) << "what loads is not taken, though its stay is over";
  admission_->SetReady(window, now_);
  Run();
  EXPECT_TRUE(IsAdmitted(large));
}

TEST_F(AdmissionTest, NothingIsTakenWhereItWouldNotBeEnough) {
  SetBudget(4);
  SessionState &one = AddSession(), &two = AddSession(), &three = AddSession();
  WindowState &loading = OpenAndUse(one, 2, 1), &ready = OpenAndUse(two, 1, 1);
  WindowState& announced = Open(two, 1, 2);
  Run();
  for (WindowState* window : {&ready, &announced}) admission_->SetReady(*window, now_);
  WindowState& large = OpenAndUse(three, 3, 1);
  Run();
  EXPECT_FALSE(IsAdmitted(large));
  EXPECT_EQ(ready.phase, Phase::kReady);
  EXPECT_EQ(announced.phase, Phase::kReady);
  admission_->SetReady(loading, now_);
  admission_->Withdraw(loading);
  Run();
  EXPECT_TRUE(IsAdmitted(large));
}

// 64 sessions with 40 windows each. Checks that not every turn looks at all waiting windows.
TEST_F(AdmissionTest, LooksOnlyAtWindowsThatMayFit) {
  constexpr uint64_t kSessions = 64, kWindows = 40;
  SessionState& holder = AddSession();
  WindowState& held = OpenAndUse(holder, 3, 0);
  Run();
  for (uint64_t s = 0; s < kSessions; ++s) {
    SessionState& session = AddSession();
    for (uint64_t w = 0; w < kWindows; ++w) {
      OpenAndUse(session, 2, w);
      Run();
    }
  }
  EXPECT_EQ(admission_->num_waiting(), kSessions * kWindows);
  EXPECT_LE(admission_->num_looks(), kSessions + 1);
  const uint64_t before = admission_->num_looks();
  for (int turn = 0; turn < 1000; ++turn) Run();
  EXPECT_EQ(admission_->num_looks(), before);
  admission_->Withdraw(held);
  Run();
  EXPECT_EQ(admission_->num_waiting(), kSessions * kWindows - 2);
  EXPECT_LE(admission_->num_looks(), before + kSessions + 2);
}

TEST_F(AdmissionTest, LooksAtOneOfTheWindowsThatAreOnlyAnnounced) {
  SessionState& holder = AddSession();
  OpenAndUse(holder, 3, 0);
  Run();
  for (int s = 0; s < 64; ++s) {
    SessionState& session = AddSession();
    for (uint64_t w = 0; w < 40; ++w) {
      Open(session, 2, w);
      Run();
    }
  }
  EXPECT_EQ(admission_->num_waiting(), 64u * 40);
  EXPECT_LE(admission_->num_looks(), 3u);
}

}  // namespace
}  // namespace penstock
