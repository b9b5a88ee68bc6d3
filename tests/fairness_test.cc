// Tests many clients of one server at once, through gRPC.
#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "gtest/gtest.h"
#include "records/engine/testing/chess_data.h"
#include "tests/connected_transport.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"
#include "tests/test_cluster.h"

namespace penstock {
namespace {

// Counts the rows that each client has received. Thread-safe.
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

  // Waits until all clients together have `all` rows and each has at least `each`.
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

// Has a stream that has begun, for which the server keeps a place however many others follow. Once
// started, it requests the rows of one window again and again, and always has `depth` requests in
// flight.
class Reader final : public StreamEvents {
 public:
  Reader(size_t number, size_t depth, WireDtype dtype, const std::string& address,
         const ChessData& data, Tally& tally)
      : number_(number),
        dtype_(dtype),
        window_(data.Window(1, {0, 1, 2, 3, 4, 5, 6, 7})),
        options_(data.Stream()),
        tally_(tally),
        rows_left_(depth),
        transport_(ConnectedTransport(address)),
        stream_(transport_->Connect(options_, *this)) {
    MutexLock lock(&mutex_);
    while (!has_begun_) changed_.Wait(&mutex_);
  }

  void Start() {
    stream_->OpenWindow(window_);
    for (uint64_t request = 0; request < rows_left_.size(); ++request) {
      rows_left_[request] = window_.rows;
      Ask(request);
    }
  }

  void OnEvent(StreamEvent event) override {
    if (const auto* error = std::get_if<StreamError>(&event)) tally_.Fail(error->status);
    const auto* broken = std::get_if<StreamBroken>(&event);
    if (broken != nullptr) tally_.Fail(broken->status);
    if (broken != nullptr || std::holds_alternative<ServerInfo>(event)) Begin();
  }
  void OnPart(ReceivedPart part) override {
    MutexLock lock(&mutex_);  // Parts may come at the same time.
    uint64_t& left = rows_left_[part.request % rows_left_.size()];
    left -= part.rows;
    tally_.Add(number_, part.rows);
    if (left > 0) return;
    left = window_.rows;
    Ask(part.request + rows_left_.size());
  }

 private:
  void Begin() {
    MutexLock lock(&mutex_);
    has_begun_ = true;
    changed_.NotifyAll();
  }
  void Ask(uint64_t request) {
    stream_->Fetch({.request = request,
                    .window = window_.window,
                    .rows = window_.rows,
                    .dtype = dtype_,
                    .needed_at = request});
  }

  const size_t number_;
  const WireDtype dtype_;
  const OpenWindow window_;
  const StreamOptions options_;
  Tally& tally_;
  Mutex mutex_;
  CondVar changed_;
  // Also true if it has broken; then the tally has failed.
  bool has_begun_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<uint64_t> rows_left_;  // Rows left of each request in flight. Only parts use it.
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<Stream> stream_;  // Last, because its events use all members above.
};

// Returns the rows that each client gets while all are busy. `depths` has the number of requests
// that each client has in flight.
absl::StatusOr<std::vector<uint64_t>> Serve(const std::vector<size_t>& depths, WireDtype dtype,
                                            uint64_t rows_each) {
  TempFolder folder;
  const ChessData data(folder.path(), {});
  TestCluster cluster(folder.path());
  PENSTOCK_RETURN_IF_ERROR(cluster.Add());
  Tally tally(depths.size());
  std::vector<std::unique_ptr<Reader>> readers;
  for (size_t i = 0; i < depths.size(); ++i) {
    readers.push_back(
        std::make_unique<Reader>(i, depths[i], dtype, cluster.address(0), data, tally));
  }
  for (const std::unique_ptr<Reader>& reader : readers) reader->Start();
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<uint64_t> begin, tally.WaitFor(0, 1));
  const uint64_t so_far = std::accumulate(begin.begin(), begin.end(), uint64_t{0});
  PENSTOCK_ASSIGN_OR_RETURN(std::vector<uint64_t> rows,
                            tally.WaitFor(so_far + depths.size() * rows_each, 0));
  for (size_t i = 0; i < rows.size(); ++i) rows[i] -= begin[i];
  return rows;
}

TEST(FairnessTest, TwoHundredClientsGetLikeShares) {
  ASSERT_OK_AND_ASSIGN(const std::vector<uint64_t> rows,
                       Serve(std::vector<size_t>(200, 4), WireDtype::kPacked, 10'000));
  const auto [least, most] = std::minmax_element(rows.begin(), rows.end());
  EXPECT_LT(static_cast<double>(*most) / static_cast<double>(*least), 2);
}

// A request has 2.5 MB. So a client with four requests always has one that waits, even if it gets
// the last part of another one late.
TEST(FairnessTest, AGreedyClientGetsNoMoreThanTwiceOfThoseBesideIt) {
  std::vector<size_t> depths(50, 4);
  depths[0] = 100;
  ASSERT_OK_AND_ASSIGN(const std::vector<uint64_t> rows, Serve(depths, WireDtype::kF32, 3'000));
  const uint64_t least = *std::min_element(rows.begin() + 1, rows.end());
  EXPECT_LT(static_cast<double>(rows[0]) / static_cast<double>(least), 2);
}

}  // namespace
}  // namespace penstock
