// Counts calls of operator new, so it is a program of its own.
#include <cstdlib>

#include "gtest/gtest.h"
#include "records/engine/testing/engine_fixture.h"
#include "tests/count_allocations.h"

namespace penstock {
namespace {

// Drops what it gets.
class Sink : public SessionEvents {
 public:
  void OnWindowReady(uint64_t, uint64_t) override {}
  void OnPart(PartBuffer part) override {
    const uint32_t rows = part.rows;
    part = PartBuffer();
    MutexLock lock(&mutex_);
    rows_ += rows;
    changed_.NotifyAll();
  }
  void OnError(StreamError) override { std::abort(); }
  void Await(uint64_t rows) {
    MutexLock lock(&mutex_);
    while (rows_ < rows) changed_.Wait(&mutex_);
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  uint64_t rows_ ABSL_GUARDED_BY(mutex_) = 0;
};

using AllocationTest = EngineFixture;

TEST_F(AllocationTest, PartsOfAReadyWindowTakeNoMemory) {
  const ChessData& data = MakeData({.records_per_chunk = 1000});
  Start();
  Sink client;
  auto session = Open(client, /*record_ids=*/true);
  const OpenWindow window = data.Window(0, {0, 1, 2, 3});
  ASSERT_OK(session->OpenWindow(window));
  uint64_t request = 0, rows = 0;
  const auto round = [&] {
    for (int i = 0; i < 20; ++i) {
      const Fetch fetch{.request = ++request,
                        .window = 0,
                        .rows = 900,
                        .stride = 1000,
                        .count = 4,
                        .needed_at = request};
      if (!session->Fetch(fetch).ok()) std::abort();  // gMock's matchers take memory.
      rows += 3600;
    }
    client.Await(rows);
  };
  for (int warm_up = 0; warm_up < 20; ++warm_up) round();
  const uint64_t before = allocations;
  for (int measured = 0; measured < 20; ++measured) round();
  // 400 requests. A moment with more parts in use than ever before takes a buffer or two, once.
  EXPECT_LE(allocations - before, 8u);
}

}  // namespace
}  // namespace penstock
