// Tests the shares of sessions that request more than the engine's threads can do.
#include "records/engine/turns.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "gtest/gtest.h"
#include "records/engine/testing/engine_fixture.h"

namespace penstock {
namespace {

// Delays calls: makes each call once `length` later calls have come. This simulates the way to a
// client and back while the engine continues. Thread-safe.
class Way {
 public:
  explicit Way(size_t length) : length_(length) {}

  void Send(std::function<void()> call) {
    MutexLock lock(&mutex_);
    if (closed_) return;
    under_way_.push_back(std::move(call));
    if (under_way_.size() <= length_) return;
    under_way_.front()();
    under_way_.pop_front();
  }
  // Makes no further calls.
  void Close() {
    MutexLock lock(&mutex_);
    closed_ = true;
  }

 private:
  const size_t length_;
  Mutex mutex_;
  std::deque<std::function<void()>> under_way_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

// Counts the rows that each eater got, from when all had some until the last had `enough` more.
// Thread-safe.
class Tally {
 public:
  Tally(size_t eaters, uint64_t enough) : enough_(enough), rows_(eaters) {}

  void Add(size_t eater, uint64_t rows) {
    MutexLock lock(&mutex_);
    if (done_) return;
    rows_[eater] += rows;
    if (before_.empty() && std::find(rows_.begin(), rows_.end(), 0u) == rows_.end()) {
      before_ = rows_;
    }
    done_ = !before_.empty() && rows_.back() - before_.back() >= enough_;
    if (done_) changed_.NotifyAll();
  }
  std::vector<uint64_t> Wait() {
    MutexLock lock(&mutex_);
    while (!done_) changed_.Wait(&mutex_);
    std::vector<uint64_t> rows = rows_;
    for (size_t i = 0; i < rows.size(); ++i) rows[i] -= before_[i];
    return rows;
  }

 private:
  const uint64_t enough_;
  Mutex mutex_;
  CondVar changed_;
  std::vector<uint64_t> rows_ ABSL_GUARDED_BY(mutex_);
  std::vector<uint64_t> before_ ABSL_GUARDED_BY(mutex_);
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
};

struct Appetite {
  uint64_t requests = 2;  // Number of requests that are outstanding or on the way.
  uint32_t rows = 160;    // Rows of each request.
  WireDtype dtype = WireDtype::kI8;
};

// Requests rows of one window again whenever it has received some.
class Eater final : public SessionEvents {
 public:
  Eater(size_t number, Appetite appetite, const OpenWindow& window, Way& way, Tally& tally)
      : number_(number), appetite_(appetite), window_(window), way_(way), tally_(tally) {}

  void Begin(Session& session) {
    session_ = &session;
    EXPECT_OK(session.OpenWindow(window_));
    for (uint64_t i = 0; i < appetite_.requests; ++i) Ask();
  }

  void OnWindowReady(uint64_t, uint64_t) override {}
  void OnPart(PartBuffer part) override {
    const uint64_t rows = rows_ += part.rows;
    tally_.Add(number_, part.rows);
    if (rows % appetite_.rows == 0) way_.Send([this] { Ask(); });
  }
  void OnError(StreamError error) override { ADD_FAILURE() << error.status; }

 private:
  void Ask() {
    EXPECT_OK(session_->Fetch({.request = next_request_++,
                               .window = window_.window,
                               .rows = appetite_.rows,
                               .dtype = appetite_.dtype}));
  }

  const size_t number_;
  const Appetite appetite_;
  const OpenWindow window_;
  Way& way_;
  Tally& tally_;
  Session* session_ = nullptr;
  std::atomic<uint64_t> next_request_{0};
  std::atomic<uint64_t> rows_{0};
};

class TurnsTest : public EngineFixture {
 protected:
  // Returns the rows that each eater got until the last of them had `enough`. New requests arrive
  // after `way` more parts.
  std::vector<uint64_t> Feed(const std::vector<Appetite>& appetites, size_t way, uint64_t enough) {
    MakeData({.shards = 1, .chunks_per_shard = 1, .records_per_chunk = 700});
    Start({.threads = 1});
    Way there_and_back(way);
    Tally tally(appetites.size(), enough);
    std::vector<std::unique_ptr<Eater>> eaters;
    std::vector<std::unique_ptr<Session>> sessions;
    for (const Appetite& appetite : appetites) {
      eaters.push_back(std::make_unique<Eater>(eaters.size(), appetite, data_->Window(1, {0}),
                                               there_and_back, tally));
      sessions.push_back(Open(*eaters.back()));
    }
    for (size_t i = 0; i < eaters.size(); ++i) eaters[i]->Begin(*sessions[i]);
    std::vector<uint64_t> rows = tally.Wait();
    there_and_back.Close();
    return rows;
  }
};

TEST_F(TurnsTest, AGreedySessionGetsNoMoreThanThoseWithOneRequestWaiting) {
  const std::vector<uint64_t> rows = Feed({{.requests = 16}, {}, {}, {}, {}}, /*way=*/4, 200 * 160);
  for (size_t i = 0; i + 1 < rows.size(); ++i) {
    EXPECT_LT(static_cast<double>(rows[i]) / static_cast<double>(rows.back()), 1.2) << i;
  }
}

TEST_F(TurnsTest, LargeRequestsGetNoMoreThanSmallOnes) {
  const std::vector<uint64_t> rows =
      Feed({{.requests = 8, .rows = 640}, {.requests = 2, .rows = 8}}, /*way=*/0, 20'000);
  EXPECT_LT(static_cast<double>(rows[0]) / static_cast<double>(rows[1]), 1.5);
}

// Shares are measured in bytes, not in rows or time of the threads: a row of f32 has 30 times the
// bytes of a packed row, but does not take 30 times as long to decode.
TEST_F(TurnsTest, SessionsOfDifferentDtypesGetTheSameBytes) {
  const WireDtype dtypes[] = {WireDtype::kPacked, WireDtype::kI8, WireDtype::kF32};
  std::vector<Appetite> appetites;
  for (WireDtype dtype : dtypes) appetites.push_back({.requests = 8, .rows = 640, .dtype = dtype});
  const std::vector<uint64_t> rows = Feed(appetites, /*way=*/0, 20'000);
  std::vector<uint64_t> bytes;
  for (size_t i = 0; i < rows.size(); ++i) {
    ASSERT_OK_AND_ASSIGN(const Program program, Program::Compile(data_->Stream().spec, dtypes[i]));
    bytes.push_back(rows[i] * program.row_bytes());
  }
  // 120 MB each. A part, at most 1 MiB, may belong to this round or the next.
  const auto [least, most] = std::minmax_element(bytes.begin(), bytes.end());
  EXPECT_LT(static_cast<double>(*most) / static_cast<double>(*least), 1.1);
}

// Turns without an engine and its threads.
class TakeTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kChunkBytes = 64 << 10;

  SessionState& AddSession() {
    sessions_.push_back(std::make_unique<SessionState>(client_, nullptr));
    SessionState& session = *sessions_.back();
    session.home = pool_->MakeHome();
    turns_.Add(session);
    return session;
  }
  WindowState& AddWindow(SessionState& session) {
    windows_.push_back(std::make_unique<WindowState>());
    windows_.back()->session = &session;
    return *windows_.back();
  }
  void AskForLoads(SessionState& session, int chunks, uint64_t needed_at = 0) {
    WindowState& window = AddWindow(session);
    window.needed_at = needed_at;
    window.phase = WindowState::Phase::kLoading;
    for (; chunks > 0; --chunks) {
      chunks_.push_back(std::make_unique<ChunkEntry>());
      chunks_.back()->ref.size = kChunkBytes;
      window.chunks.push_back(chunks_.back().get());
    }
    session.window_work.Insert(&window);
  }
  // Returns how many of the next `jobs` jobs belong to the session.
  int JobsOf(const SessionState& session, int jobs) {
    int its = 0;
    for (std::vector<Job> taken; jobs > 0; --jobs, taken.clear()) {
      EXPECT_TRUE(turns_.Take(JobSet::kAll, taken));
      for (const Job& job : taken) its += job.session == &session;
    }
    return its;
  }

  Recorder client_;
  std::shared_ptr<PartPool> pool_ =
      std::make_shared<PartPool>(std::make_shared<PageMemory>(0, 0), 1 << 20, 0, nullptr);
  Turns turns_{EngineLimits{}, pool_->ledger(), /*share_parts=*/true};
  std::vector<std::unique_ptr<SessionState>> sessions_;
  std::vector<std::unique_ptr<WindowState>> windows_;
  std::vector<std::unique_ptr<ChunkEntry>> chunks_;
};

TEST_F(TakeTest, ASessionThatAskedForNothingSavesNoTurns) {
  SessionState &idle = AddSession(), &busy = AddSession();
  AskForLoads(busy, 100);
  EXPECT_EQ(JobsOf(busy, 100), 100);
  AskForLoads(idle, 100);
  AskForLoads(busy, 100);
  EXPECT_NEAR(JobsOf(idle, 20), 10, 1);
}

// Sessions that have the same window open and request the same rows.
class TakeRowsTest : public TakeTest {
 protected:
  TakeRowsTest() {
    const ChessData data(folder_.path(), {.shards = 1, .chunks_per_shard = 1});
    decodings_ = std::make_shared<const Decodings>(Decodings::Compile(data.Stream()).value());
  }
  void AskForRows(SessionState& session, uint64_t needed_at = 0) {
    WindowState& window = AddWindow(session);
    window.phase = WindowState::Phase::kReady;
    window.definition.rows = 1000;
    window.shared = shared_;
    shared_->readers.push_back(&window);
    requests_.push_back(std::make_unique<RequestState>());
    RequestState& request = *requests_.back();
    request.window = &window;
    request.needed_at = needed_at;
    request.pattern.rows = 16;
    request.decoding = &*decodings_->For(WireDtype::kI8);
    session.runnable.Insert(&request);
  }

  const TempFolder folder_;
  std::shared_ptr<const Decodings> decodings_;
  const std::shared_ptr<SharedWindow> shared_ = std::make_shared<SharedWindow>();
  std::vector<std::unique_ptr<RequestState>> requests_;
};

TEST_F(TakeRowsTest, WithinASessionTheEarliestNeededComesFirst) {
  for (const uint64_t rows_at : {5, 10, 15}) {
    SessionState& session = AddSession();
    AskForLoads(session, 1, 10);
    AskForRows(session, rows_at);
    std::vector<Job> jobs;
    ASSERT_TRUE(turns_.Take(JobSet::kAll, jobs));
    EXPECT_EQ(jobs[0].kind, rows_at < 10 ? Job::Kind::kDecode : Job::Kind::kLoad) << rows_at;
    turns_.Remove(session);
  }
}

TEST_F(TakeRowsTest, ASessionGetsOnePartThoughOthersHaveAllMemory) {
  SessionState& session = AddSession();
  for (int i = 0; i < 2; ++i) AskForRows(session);
  pool_->ledger().Add(size_t{1} << 40);
  std::vector<Job> jobs;
  EXPECT_TRUE(turns_.Take(JobSet::kAll, jobs));
  EXPECT_FALSE(turns_.Take(JobSet::kAll, jobs));
  pool_->ledger().Subtract(size_t{1} << 40);
  EXPECT_TRUE(turns_.Take(JobSet::kAll, jobs));
}

TEST_F(TakeRowsTest, AFollowerThatOwesTooMuchWaitsForItsTurn) {
  constexpr int64_t kMaxDebt = int64_t{16} << 20;
  for (const bool too_much : {false, true}) {
    SessionState &leader = AddSession(), &follower = AddSession();
    for (SessionState* session : {&leader, &follower}) AskForRows(*session);
    leader.deficit = 1;
    follower.deficit = too_much ? -kMaxDebt : -kMaxDebt + 1;
    std::vector<Job> jobs;
    ASSERT_TRUE(turns_.Take(JobSet::kAll, jobs));
    EXPECT_EQ(jobs.size(), too_much ? 1u : 2u);
    EXPECT_EQ(jobs[0].session, &leader);
    for (SessionState* session : {&leader, &follower}) turns_.Remove(*session);
    shared_->readers.clear();
  }
}

}  // namespace
}  // namespace penstock
