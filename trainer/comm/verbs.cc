#include "trainer/comm/verbs.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/print_escaped.h"
#include "base/process/start_thread.h"
#include "base/status.h"
#include "trainer/comm/gather.h"
#include "trainer/comm/reduction.h"

namespace penstock {

struct RankHandle::Operation {
  std::function<absl::Status(Communicator&)> run;
  mutable Mutex mutex;
  CondVar finished;
  std::optional<absl::Status> status ABSL_GUARDED_BY(mutex);
};

bool RankHandle::done() const {
  MutexLock lock(&operation_->mutex);
  return operation_->status.has_value();
}

// Runs operations in the order of their arrival. The destructor waits for all of them.
class RankVerbs::Worker {
 public:
  static absl::StatusOr<std::unique_ptr<Worker>> Start(Communicator& ranks) {
    std::unique_ptr<Worker> worker(new Worker(ranks));
    PENSTOCK_ASSIGN_OR_RETURN(worker->thread_, StartThread("that runs operations of ranks",
                                                           [it = worker.get()] { it->Serve(); }));
    return worker;
  }
  ~Worker() {
    MutexLock lock(&mutex_);
    closing_ = true;
    changed_.NotifyAll();
  }

  void Add(std::shared_ptr<RankHandle::Operation> operation) {
    MutexLock lock(&mutex_);
    waiting_.push_back(std::move(operation));
    changed_.NotifyAll();
  }

 private:
  explicit Worker(Communicator& ranks) : ranks_(ranks) {}
  std::shared_ptr<RankHandle::Operation> Take() {
    MutexLock lock(&mutex_);
    while (waiting_.empty() && !closing_) changed_.Wait(&mutex_);
    if (waiting_.empty()) return nullptr;
    std::shared_ptr<RankHandle::Operation> first = std::move(waiting_.front());
    waiting_.pop_front();
    return first;
  }
  void Serve() {
    while (const std::shared_ptr<RankHandle::Operation> operation = Take()) {
      absl::Status status = operation->run(ranks_);
      MutexLock lock(&operation->mutex);
      operation->status = std::move(status);
      operation->finished.NotifyAll();
    }
  }

  Communicator& ranks_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<std::shared_ptr<RankHandle::Operation>> waiting_ ABSL_GUARDED_BY(mutex_);
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  std::jthread thread_;
};

RankVerbs::RankVerbs() = default;
RankVerbs::~RankVerbs() = default;

absl::Status RankVerbs::Init(const RankOptions& rank, const RankGroupOptions& options) {
  PENSTOCK_ASSIGN_OR_RETURN(const RankInfo info, FindRank(rank, ProcessEnvironment()));
  return Init(info, options);
}

absl::Status RankVerbs::Init(const RankInfo& info, const RankGroupOptions& options) {
  if (IsInitialized()) return absl::FailedPreconditionError("Init() was already called");
  PENSTOCK_ASSIGN_OR_RETURN(auto group, RankGroup::Join(info, options));
  absl::StatusOr<std::unique_ptr<Worker>> worker = Worker::Start(group->communicator());
  if (!worker.ok()) group->Fail(worker.status());
  PENSTOCK_ASSIGN_OR_RETURN(worker_, std::move(worker));
  group_ = std::move(group);
  const absl::StatusOr<std::vector<size_t>> local_ranks = GatherSizes(info.local_rank);
  if (!local_ranks.ok()) {
    (void)Shutdown(local_ranks.status());
    return local_ranks.status();
  }
  cross_ = FindCrossPlace(*local_ranks, info.rank);
  return absl::OkStatus();
}

absl::Status RankVerbs::CheckInitialized() const {
  if (IsInitialized()) return absl::OkStatus();
  return absl::FailedPreconditionError("these ranks are not initialized: call Init() first");
}

const RankInfo& RankVerbs::info() const {
  if (const absl::Status status = CheckInitialized(); !status.ok()) {
    PrintEscaped(stderr, "penstock::RankVerbs: %s\n", status.message());
    std::abort();
  }
  return group_->info();
}

const CrossPlace& RankVerbs::cross() const {
  (void)info();  // Ends the program if not initialized.
  return cross_;
}

absl::Status RankVerbs::Shutdown(const absl::Status& why) {
  PENSTOCK_RETURN_IF_ERROR(CheckInitialized());
  if (!why.ok()) group_->Fail(why);
  worker_.reset();
  group_.reset();
  return absl::OkStatus();
}

CrossPlace FindCrossPlace(std::span<const size_t> local_ranks, size_t rank) {
  const auto before = local_ranks.begin() + static_cast<ptrdiff_t>(rank);
  return {.rank = static_cast<size_t>(std::count(local_ranks.begin(), before, *before)),
          .size = static_cast<size_t>(std::count(local_ranks.begin(), local_ranks.end(), *before))};
}

RankHandle RankVerbs::Start(std::function<absl::Status(Communicator&)> run) {
  RankHandle handle;
  handle.operation_ = std::make_shared<RankHandle::Operation>();
  if (absl::Status status = CheckInitialized(); !status.ok()) {
    MutexLock lock(&handle.operation_->mutex);
    handle.operation_->status = std::move(status);
    return handle;
  }
  handle.operation_->run = std::move(run);
  worker_->Add(handle.operation_);
  return handle;
}

absl::Status RankVerbs::Wait(const RankHandle& handle) {
  if (handle.operation_ == nullptr) {
    return absl::InvalidArgumentError("Wait() was given a handle that belongs to no operation");
  }
  RankHandle::Operation& operation = *handle.operation_;
  MutexLock lock(&operation.mutex);
  while (!operation.status.has_value()) operation.finished.Wait(&operation.mutex);
  return *operation.status;
}

template <typename T>
RankHandle RankVerbs::GroupedAllreduceAsync(std::vector<std::span<T>> arrays,
                                            const AllreduceOptions& options) {
  return Start([arrays = std::move(arrays), options](Communicator& ranks) {
    PENSTOCK_RETURN_IF_ERROR(CheckReduction<T>(options));
    for (const std::span<T> values : arrays) {
      PENSTOCK_RETURN_IF_ERROR(ReduceScatter(ranks, values, options));
      PENSTOCK_RETURN_IF_ERROR(GatherParts(ranks, values));
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<size_t>> RankVerbs::GatherSizes(size_t own) {
  std::vector<size_t> sizes;
  PENSTOCK_RETURN_IF_ERROR(Wait(Start([&](Communicator& ranks) -> absl::Status {
    PENSTOCK_ASSIGN_OR_RETURN(sizes, GatherOne(ranks, own));
    return absl::OkStatus();
  })));
  return sizes;
}

template <typename T>
absl::StatusOr<std::vector<T>> RankVerbs::Allgather(std::span<const T> values) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<size_t> sizes, GatherSizes(values.size()));
  std::vector<T> all(std::accumulate(sizes.begin(), sizes.end(), size_t{0}));
  const size_t own = std::accumulate(sizes.begin(), sizes.begin() + ptrdiff_t(Rank()), size_t{0});
  std::copy(values.begin(), values.end(), all.begin() + ptrdiff_t(own));
  PENSTOCK_RETURN_IF_ERROR(Wait(Start([&](Communicator& ranks) {
    std::vector<std::span<uint8_t>> parts;
    size_t first = 0;
    for (const size_t size : sizes) {
      parts.push_back(AsBytes(std::span(all).subspan(first, size)));
      first += size;
    }
    return ranks.AllGather(parts);
  })));
  return all;
}

template <typename T>
absl::StatusOr<std::vector<T>> RankVerbs::Alltoall(std::span<const T> values,
                                                   std::span<const size_t> splits) {
  PENSTOCK_RETURN_IF_ERROR(CheckInitialized());
  if (splits.size() != Size() ||
      std::accumulate(splits.begin(), splits.end(), size_t{0}) != values.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(splits.size(), " splits of ", values.size(), " values for ", Size(),
                     " ranks: give one split per rank, which together have all values"));
  }
  const std::vector<size_t> own(splits.begin(), splits.end());
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<size_t> all, Allgather<size_t>(own));
  size_t coming = 0;
  for (size_t r = 0; r < Size(); ++r) coming += all[r * Size() + Rank()];
  std::vector<T> received(coming);
  PENSTOCK_RETURN_IF_ERROR(Wait(Start([&](Communicator& ranks) {
    std::vector<std::span<const uint8_t>> out;
    std::vector<std::span<uint8_t>> in;
    size_t sent = 0, taken = 0;
    for (size_t r = 0; r < ranks.size(); ++r) {
      const std::span<const T> part = values.subspan(sent, own[r]);
      out.push_back({reinterpret_cast<const uint8_t*>(part.data()), part.size_bytes()});
      sent += own[r];
      const size_t count = all[r * ranks.size() + ranks.rank()];
      in.push_back(AsBytes(std::span(received).subspan(taken, count)));
      taken += count;
    }
    return ranks.AllToAll(out, in);
  })));
  return received;
}

template <typename T>
absl::StatusOr<std::vector<T>> RankVerbs::Reducescatter(std::span<const T> values,
                                                        const AllreduceOptions& options) {
  PENSTOCK_RETURN_IF_ERROR(CheckReduction<T>(options));
  std::vector<T> all(values.begin(), values.end());
  PENSTOCK_RETURN_IF_ERROR(Wait(
      Start([&](Communicator& ranks) { return ReduceScatter(ranks, std::span(all), options); })));
  const size_t first = FirstRowOf(Rank(), Size(), all.size());
  const size_t last = FirstRowOf(Rank() + 1, Size(), all.size());
  return std::vector<T>(all.begin() + ptrdiff_t(first), all.begin() + ptrdiff_t(last));
}

absl::Status RankVerbs::BroadcastBytes(std::span<uint8_t> bytes, size_t root) {
  PENSTOCK_RETURN_IF_ERROR(CheckInitialized());
  if (root >= Size()) {
    return absl::InvalidArgumentError(absl::StrCat("rank ", root, " does not exist: there are ",
                                                   Size(), " ranks, counted from 0"));
  }
  return Wait(Start([=](Communicator& ranks) { return ranks.Broadcast(root, bytes); }));
}

absl::Status RankVerbs::BroadcastParameters(std::span<const std::span<float>> arrays, size_t root) {
  for (const std::span<float> array : arrays) {
    PENSTOCK_RETURN_IF_ERROR(Broadcast(array, root));
  }
  return absl::OkStatus();
}

absl::Status RankVerbs::BroadcastObject(std::string& object, size_t root) {
  return Wait(Start([&](Communicator& ranks) { return BroadcastText(ranks, root, object); }));
}

absl::Status RankVerbs::Barrier() {
  return Wait(Start([](Communicator& ranks) { return ranks.Barrier(); }));
}

absl::StatusOr<double> RankVerbs::MetricAverage(double value) {
  PENSTOCK_RETURN_IF_ERROR(Allreduce(std::span(&value, 1)));
  return value;
}

absl::StatusOr<bool> DistributedOptimizer::Step(Gradients gradients) {
  const bool is_last = ++passes_ >= options_.backward_passes_per_step;
  sums_.resize(gradients.size());
  for (size_t i = 0; i < gradients.size(); ++i) {
    sums_[i].resize(gradients[i].size());
    for (size_t j = 0; j < gradients[i].size(); ++j) {
      sums_[i][j] += gradients[i][j];
      if (is_last) gradients[i][j] = sums_[i][j];
    }
  }
  if (!is_last) return false;
  passes_ = 0;
  sums_.clear();
  PENSTOCK_RETURN_IF_ERROR(
      ranks_.GroupedAllreduce<float>({gradients.begin(), gradients.end()}, options_.reduce));
  apply_(gradients);
  return true;
}

#define PENSTOCK_RANK_VERBS(T)                                                          \
  template RankHandle RankVerbs::GroupedAllreduceAsync(std::vector<std::span<T>>,       \
                                                       const AllreduceOptions&);        \
  template absl::StatusOr<std::vector<T>> RankVerbs::Allgather(std::span<const T>);     \
  template absl::StatusOr<std::vector<T>> RankVerbs::Alltoall(std::span<const T>,       \
                                                              std::span<const size_t>); \
  template absl::StatusOr<std::vector<T>> RankVerbs::Reducescatter(std::span<const T>,  \
                                                                   const AllreduceOptions&);
template absl::StatusOr<std::vector<size_t>> RankVerbs::Allgather(std::span<const size_t>);
PENSTOCK_RANK_VERBS(float)
PENSTOCK_RANK_VERBS(double)
PENSTOCK_RANK_VERBS(int32_t)
PENSTOCK_RANK_VERBS(int64_t)
#undef PENSTOCK_RANK_VERBS

}  // namespace penstock
