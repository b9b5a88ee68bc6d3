// An engine over random shards, with the calls that its tests make.
#ifndef PENSTOCK_RECORDS_ENGINE_TESTING_ENGINE_FIXTURE_H_
#define PENSTOCK_RECORDS_ENGINE_TESTING_ENGINE_FIXTURE_H_

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "records/engine/engine.h"
#include "records/engine/testing/chess_data.h"
#include "records/engine/testing/recorder.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {

class EngineFixture : public ::testing::Test {
 protected:
  const ChessData& MakeData(const ChessDataOptions& options = {}) {
    return data_.emplace(folder_.path(), options);
  }
  void Start(EngineOptions options = {}) {
    options.data_root = folder_.path();
    if (options.threads == 0) options.threads = 2;
    if (options.memory_budget == 0) options.memory_budget = uint64_t{64} << 20;
    options.strip_cache = strip_cache_;
    auto engine = Engine::Create(options);
    ASSERT_THAT(engine, IsOk());
    engine_ = *std::move(engine);
  }
  std::unique_ptr<Session> Open(SessionEvents& events, bool record_ids = false) {
    auto session = engine_->OpenSession(data_->Stream(record_ids), events);
    EXPECT_THAT(session, IsOk());
    return session.ok() ? *std::move(session) : nullptr;
  }
  // Requests all rows of a window.
  static Fetch FetchAll(const OpenWindow& window, uint64_t request,
                        WireDtype dtype = WireDtype::kI8) {
    return {.request = request,
            .window = window.window,
            .rows = window.rows,
            .dtype = dtype,
            .needed_at = request};
  }
  // Returns the rows of an answer that has arrived.
  std::vector<std::string> Rows(Recorder& client, uint64_t request, WireDtype dtype,
                                bool record_ids = false) {
    auto program = Program::Compile(data_->Stream().spec, dtype).value();
    std::vector<size_t> row_bytes;
    for (const TensorInfo& tensor : program.tensors()) row_bytes.push_back(tensor.row_bytes);
    if (record_ids) row_bytes.push_back(sizeof(int64_t));
    return client.Rows(request, row_bytes);
  }
  void ExpectAnswer(Recorder& client, const OpenWindow& window, const Fetch& fetch,
                    bool record_ids = false) {
    ASSERT_TRUE(client.WaitRows(fetch.request, uint64_t{fetch.rows} * fetch.count));
    EXPECT_EQ(Rows(client, fetch.request, fetch.dtype, record_ids),
              data_->Answer(window, fetch, record_ids));
  }
  // Waits up to a minute until holds() is true. Use it for times and totals, which are updated soon
  // after a client has heard of a job, but not at once.
  template <typename Holds>
  static bool WaitUntil(const Holds& holds) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!holds()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::yield();
    }
    return true;
  }

  TempFolder folder_;
  std::optional<ChessData> data_;
  uint64_t strip_cache_ = 0;  // 0, so that budgets are for chunks alone.
  std::unique_ptr<Engine> engine_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_TESTING_ENGINE_FIXTURE_H_
