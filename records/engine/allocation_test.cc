// Counts calls of operator new, and is therefore a separate program. libjpeg-turbo allocates memory
// for each image with malloc(), which is not counted.
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "gtest/gtest.h"
#include "records/engine/testing/engine_fixture.h"
#include "records/engine/testing/record_data.h"
#include "records/format/testing/wire_writer.h"
#include "records/image/self_test_images.h"
#include "tests/count_allocations.h"

namespace penstock {
namespace {

// Drops everything that it receives.
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

// Counts allocations during 20 rounds, after 20 rounds of warm-up. If more parts are in use at a
// moment than ever before, a buffer or two is allocated, once.
uint64_t AllocationsOf(absl::FunctionRef<void()> round) {
  for (int warm_up = 0; warm_up < 20; ++warm_up) round();
  const uint64_t before = allocations;
  for (int measured = 0; measured < 20; ++measured) round();
  return allocations - before;
}

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
      if (!session->Fetch(fetch).ok()) std::abort();  // gMock's matchers allocate memory.
      rows += 3600;
    }
    client.Await(rows);
  };
  EXPECT_LE(AllocationsOf(round), 8u);  // For 400 requests.
}

// 20 rounds decode 4,000 images, with different crops in each round.
TEST_F(AllocationTest, ImagesTakeNoMemoryOfOurs) {
  constexpr uint32_t kImages = 200;
  std::vector<std::string> payloads;
  for (size_t i = 0; i < kImages; ++i) {
    const std::span<const uint8_t> jpeg = SelfTestImages()[i % SelfTestImages().size()];
    payloads.push_back(Example(Entry("jpeg", BytesKind({jpeg.begin(), jpeg.end()}))));
  }
  const RecordData data(folder_.path(), payloads, 20);
  Start();
  Sink client;
  ASSERT_OK_AND_ASSIGN(auto session, engine_->OpenSession(RecordData::Stream(R"(
      tensor { name: "image" image { feature: "jpeg"
                                     random_resized_crop { height: 24 width: 32 } flip: 0.5 } })"),
                                                          client));
  std::vector<OpenWindow> windows;
  for (uint64_t epoch = 0; epoch < 40; ++epoch) {
    windows.push_back(data.Window(epoch));
    windows.back().augmentation_key = epoch;
    ASSERT_OK(session->OpenWindow(windows.back()));
  }
  uint64_t request = 0, rows = 0;
  const auto round = [&] {
    const Fetch fetch{
        .request = ++request, .window = request - 1, .rows = kImages, .needed_at = request};
    if (!session->Fetch(fetch).ok()) std::abort();
    rows += kImages;
    client.Await(rows);
  };
  EXPECT_LE(AllocationsOf(round), 20u);
}

}  // namespace
}  // namespace penstock
