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
#include "records/engine/testing/record_data.h"
#include "records/format/variable_entry.h"

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

TEST_F(TakeRowsTest, AFollowerIsChargedAsItsLeaderIs) {
  SessionState &leader = AddSession(), &follower = AddSession();
  for (SessionState* session : {&leader, &follower}) AskForRows(*session);
  leader.deficit = follower.deficit = 1;
  std::vector<Job> jobs;
  ASSERT_TRUE(turns_.Take(JobSet::kAll, jobs));
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_LT(leader.deficit, -1000);
  EXPECT_EQ(follower.deficit, leader.deficit);
}

TEST_F(TakeRowsTest, WhenTheLastSessionLeavesTheFirstIsNext) {
  SessionState &first = AddSession(), &last = AddSession();
  for (SessionState* session : {&first, &last}) AskForLoads(*session, 10);
  EXPECT_EQ(JobsOf(first, 1), 1);
  EXPECT_EQ(JobsOf(last, 1), 1);  // The next turn is after that of `last`, or its next one.
  turns_.Remove(last);
  EXPECT_EQ(JobsOf(first, 9), 9);
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

// The first bytes of a PNG of this size.
std::string PngHeader(uint32_t width, uint32_t height) {
  std::string png("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16);
  for (const uint32_t side : {width, height}) {
    for (int shift = 24; shift >= 0; shift -= 8) png.push_back(static_cast<char>(side >> shift));
  }
  return png + std::string("\x08\x02\0\0\0\0\0\0\0", 9);  // 8-bit RGB, and the checksum.
}

// Sessions that request images, in a time that passes only as far as the test says.
class TakeImagesTest : public TakeRowsTest {
 protected:
  // Requests a row with this image again and again. Its parts take no memory.
  SessionState& AskForImages(const std::string& image) {
    SessionState& session = AddSession();
    session.decodes_rows = true;
    session.layout = layout_;
    chunks_of_images_.push_back(std::make_unique<Chunk>(memory_, 1, layout_->row_bytes(), 1 << 20));
    uint8_t* row = chunks_of_images_.back()->rows();
    uint8_t* bytes = row + layout_->row_bytes();
    std::copy(image.begin(), image.end(), bytes);
    StoreVariable({true, 1, {bytes, image.size()}}, row + layout_->feature_offset(0));
    const WindowChunk chunk{chunks_of_images_.back().get(), 0};
    auto shared = std::make_shared<SharedWindow>();
    shared->rows =
        WindowRows::Build({&chunk, 1}, nullptr, layout_->row_bytes(), {.shuffle = false}, false)
            .value();
    WindowState& window = AddWindow(session);
    window.phase = WindowState::Phase::kReady;
    window.definition.rows = 1;
    window.shared = shared;
    requests_.push_back(std::make_unique<RequestState>());
    requests_.back()->window = &window;
    requests_.back()->pattern = {.first_row = 0, .rows = 1, .stride = 0, .count = 1'000'000};
    requests_.back()->decoding = &*images_->For(WireDtype::kI8);
    session.runnable.Insert(requests_.back().get());
    return session;
  }
  // A session that requests rows without images again and again.
  SessionState& AskForRowsForEver() {
    SessionState& session = AddSession();
    session.decodes_rows = true;
    session.share_parts = false;
    AskForRows(session);
    requests_.back()->pattern = {.first_row = 0, .rows = 1000, .stride = 0, .count = 1'000'000};
    return session;
  }
  Job TakeOne() {
    std::vector<Job> jobs;
    EXPECT_TRUE(turns_.Take(JobSet::kAll, jobs));
    return jobs.at(0);
  }
  // Returns the share of the time of one thread that `light` gets until it has passed a minute, if
  // an image takes `image_ms`. The time is measured if `measured`, and otherwise never known.
  double ShareOf(const SessionState& light, uint64_t image_ms, bool measured) {
    uint64_t all = 0, its = 0;
    while (all < uint64_t{60'000} * kNanosecondsOfMs) {
      Job job = TakeOne();
      const bool decodes = job.session != &light;
      const uint64_t took = decodes ? job.rows * image_ms * kNanosecondsOfMs
                                    : job.bytes() * 2 / 25;  // As CostOfTime() has it.
      if (decodes && measured) job.nanoseconds = took;
      Turns::Settle(job);
      all += took;
      its += decodes ? 0 : took;
    }
    return static_cast<double>(its) / static_cast<double>(all);
  }

  static constexpr uint64_t kNanosecondsOfMs = 1'000'000;
  const std::shared_ptr<const Decodings> images_ =
      std::make_shared<const Decodings>(Decodings::Compile(RecordData::Stream(R"(
          tensor { name: "image" image { feature: "jpeg"
                                         random_resized_crop { height: 8 width: 8 } } })"))
                                            .value());
  const std::shared_ptr<const ChunkLayout> layout_ =
      std::make_shared<const ChunkLayout>(images_->features(), "", 0);
  PageMemory memory_{0, 0};
  std::vector<std::unique_ptr<Chunk>> chunks_of_images_;
};

// 8000x2700 flat pixels are a PNG of 68 KB, which takes as long as a JPEG of 10 MB.
TEST_F(TakeImagesTest, ManyPixelsInFewBytesAreChargedAsPixels) {
  AskForImages(PngHeader(8000, 2700) + std::string(68'000, '\0'));
  const double share = ShareOf(AskForRowsForEver(), 130, /*measured=*/false);
  EXPECT_GT(share, 0.25);
  EXPECT_LT(share, 0.75);
}

TEST_F(TakeImagesTest, AnImageIsChargedForTheTimeThatItTook) {
  for (const uint64_t image_ms : {1, 10, 100, 1000}) {
    SessionState& heavy = AskForImages(PngHeader(1000, 1000));  // Looks like 6 ms.
    SessionState& light = AskForRowsForEver();
    EXPECT_NEAR(ShareOf(light, image_ms, /*measured=*/true), 0.5, 0.05) << image_ms;
    for (SessionState* session : {&heavy, &light}) turns_.Remove(*session);
  }
}

TEST_F(TakeImagesTest, AShortJobIsChargedButBeginsNoRound) {
  SessionState &heavy = AskForImages(PngHeader(8000, 2700)), &light = AskForRowsForEver();
  heavy.deficit = light.deficit = 1;
  std::vector<Job> jobs;
  for (int64_t before = 1; light.deficit > -(int64_t{8} << 20); before = light.deficit) {
    jobs.clear();
    ASSERT_TRUE(turns_.Take(JobSet::kShort, jobs));
    EXPECT_EQ(jobs.at(0).session, &light);
    EXPECT_EQ(light.deficit, before - static_cast<int64_t>(jobs[0].cost));
  }
  EXPECT_EQ(heavy.deficit, 1);
  turns_.Remove(light);
  EXPECT_FALSE(turns_.AnyWork(JobSet::kShort));
  EXPECT_EQ(TakeOne().session, &heavy);
}

TEST_F(TakeImagesTest, SixteenHeavySessionsLeaveTheSeventeenthItsShare) {
  for (int i = 0; i < 16; ++i) AskForImages(PngHeader(8000, 2700));
  EXPECT_NEAR(ShareOf(AskForRowsForEver(), 130, /*measured=*/true), 1.0 / 17, 0.02);
}

TEST_F(TakeImagesTest, AJobHasAboutTenMillisecondsOfImagesAndAtLeastOne) {
  for (const auto& [bytes, rows] :
       {std::pair<size_t, uint32_t>{1000, 524}, {200'000, 2}, {600'000, 1}}) {
    SessionState& session = AskForImages(std::string(bytes, 'x'));
    EXPECT_EQ(TakeOne().rows, rows) << bytes;
    turns_.Remove(session);
  }
}

TEST_F(TakeImagesTest, AJobHasFewerImagesIfTheLastOnesTookLonger) {
  AskForImages(std::string(10'000, 'x'));
  const uint32_t before = TakeOne().rows;
  const auto settle = [this](uint64_t nanoseconds_of_byte) {
    for (int i = 0; i < 20; ++i) {
      Job job = TakeOne();
      job.nanoseconds = job.rows * 10'000 * nanoseconds_of_byte;
      Turns::Settle(job);
    }
    return TakeOne().rows;
  };
  EXPECT_EQ(settle(20), before);
  EXPECT_NEAR(settle(200), before / 10, 1);
  EXPECT_NEAR(settle(20), before, 5);
}

}  // namespace
}  // namespace penstock
