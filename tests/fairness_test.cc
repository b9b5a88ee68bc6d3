// Two hundred clients of one server at once, through gRPC.
#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <vector>

#include "client/transport/grpc/grpc_transport.h"
#include "gtest/gtest.h"
#include "records/base/bounded_queue.h"
#include "records/base/mutex.h"
#include "records/engine/testing/chess_data.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"
#include "tests/test_cluster.h"

namespace penstock {
namespace {

// Rows that each client has received. Thread-safe.
class Tally {
 public:
  explicit Tally(size_t clients) : rows_(clients) {}

  void Add(size_t client, uint64_t rows) {
    MutexLock lock(&mutex_);
    rows_[client] += rows;
    changed_.NotifyAll();
  }
  void Fail(absl::Status status) {
    MutexLock lock(&mutex_);
    failed_.Update(status);
    changed_.NotifyAll();
  }

  // Once all together have so many rows and each has at least `each`.
  absl::StatusOr<std::vector<uint64_t>> WaitFor(uint64_t all, uint64_t each) {
    MutexLock lock(&mutex_);
    while (failed_.ok() && (std::accumulate(rows_.begin(), rows_.end(), uint64_t{0}) < all ||
                            *std::min_element(rows_.begin(), rows_.end()) < each)) {
      changed_.Wait(&mutex_);
    }
    if (!failed_.ok()) return failed_;
    return rows_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::vector<uint64_t> rows_ ABSL_GUARDED_BY(mutex_);
  absl::Status failed_ ABSL_GUARDED_BY(mutex_);
};

// Once started, asks for the rows of one window again and again, always with 4 requests under way.
class Reader final : public StreamEvents {
 public:
  Reader(size_t number, const std::string& address, const ChessData& data, Tally& tally)
      : number_(number),
        window_(data.Window(1, {0, 1, 2, 3, 4, 5, 6, 7})),
        options_(data.Stream()),
        tally_(tally),
        transport_(MakeGrpcTransport(address)) {}

  // Returns once the server has said Hello; a machine under load may need several attempts.
  void Connect() {
    do {
      stream_.reset();
      stream_ = transport_->Connect(options_, *this);
    } while (!*connected_.Pop());
  }
  void Start() {
    stream_->OpenWindow(window_);
    for (uint64_t request = 0; request < kDepth; ++request) {
      rows_left_[request] = window_.rows;
      Ask(request);
    }
  }

  void OnHello(const ServerInfo&) override {
    said_hello_ = true;
    connected_.Push(true);
  }
  void OnWindowReady(uint64_t, uint64_t) override {}
  void OnPart(ReceivedPart part) override {
    uint64_t& left = rows_left_[part.request % kDepth];
    left -= part.rows;
    tally_.Add(number_, part.rows);
    if (left > 0) return;
    left = window_.rows;
    Ask(part.request + kDepth);
  }
  void OnError(StreamError error) override { tally_.Fail(error.status); }
  void OnCredit(uint64_t) override {}
  void OnDraining(uint32_t) override {}
  void OnBroken(absl::Status status) override {
    if (said_hello_) return tally_.Fail(std::move(status));
    connected_.Push(false);
  }

 private:
  static constexpr uint64_t kDepth = 4;

  void Ask(uint64_t request) {
    stream_->Fetch({.request = request,
                    .window = window_.window,
                    .rows = window_.rows,
                    .dtype = WireDtype::kPacked,
                    .needed_at = request});
  }

  const size_t number_;
  const OpenWindow window_;
  const StreamOptions options_;
  Tally& tally_;
  BoundedQueue<bool> connected_{1};
  bool said_hello_ = false;  // Of the events alone, as is:
  std::array<uint64_t, kDepth> rows_left_ = {};
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<Stream> stream_;  // Last: its events use all of the above.
};

TEST(FairnessTest, TwoHundredClientsGetLikeShares) {
  constexpr size_t kClients = 200;
  constexpr uint64_t kRowsEach = 10'000;
  TempFolder folder;
  const ChessData data(folder.path(), {});
  TestCluster cluster(folder.path());
  ASSERT_OK(cluster.Add());
  Tally tally(kClients);
  std::vector<std::unique_ptr<Reader>> readers;
  for (size_t i = 0; i < kClients; ++i) {
    readers.push_back(std::make_unique<Reader>(i, cluster.address(0), data, tally));
    readers.back()->Connect();
  }
  for (const std::unique_ptr<Reader>& reader : readers) reader->Start();
  ASSERT_OK_AND_ASSIGN(const std::vector<uint64_t> begin, tally.WaitFor(0, 1));
  const uint64_t rows_begin = std::accumulate(begin.begin(), begin.end(), uint64_t{0});
  ASSERT_OK_AND_ASSIGN(const std::vector<uint64_t> end,
                       tally.WaitFor(rows_begin + kClients * kRowsEach, 0));
  const uint64_t rows = std::accumulate(end.begin(), end.end(), uint64_t{0}) - rows_begin;
  const double mean = static_cast<double>(rows) / kClients;
  for (size_t i = 0; i < kClients; ++i) {
    const double share = static_cast<double>(end[i] - begin[i]) / mean;
    EXPECT_GT(share, 0.5) << "client " << i;
    EXPECT_LT(share, 2.0) << "client " << i;
  }
}

}  // namespace
}  // namespace penstock
