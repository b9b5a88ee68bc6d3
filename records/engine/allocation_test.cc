// Counts calls of operator new, so it is a program of its own.
#include <atomic>
#include <cstdlib>
#include <new>

#include "gtest/gtest.h"
#include "records/engine/testing/engine_fixture.h"

namespace {

std::atomic<uint64_t> allocations = 0;

void* Count(size_t size, size_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  void* memory = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace

void* operator new(size_t size) { return Count(size, alignof(std::max_align_t)); }
void* operator new(size_t size, std::align_val_t alignment) {
  return Count(size, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

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
