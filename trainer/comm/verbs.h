// Data-parallel training with your own loop and Horovod's vocabulary. With several ranks, SIGPIPE
// is ignored unless the program has set it up itself: a rank that dies is then an error, and does
// not end the others.
//
//   penstock::RankVerbs ranks;
//   PENSTOCK_RETURN_IF_ERROR(ranks.Init());           // Reads the launcher's variables.
//   ranks.Broadcast(std::span(weights), /*root=*/0);   // All start with rank 0's.
//   penstock::DistributedOptimizer optimizer(ranks, apply);
//   for (...) optimizer.Step(gradients);  // Averages over ranks, then apply(gradients).
//   double loss = *ranks.MetricAverage(own_loss);
//
// Arrays lie in host memory and are sent over TCP. trainer/comm/example is a whole program; start
// it with `penstock launch -np 4 -- program`. Not supported: GPU memory, Adasum, process sets,
// torus.
#ifndef PENSTOCK_TRAINER_COMM_VERBS_H_
#define PENSTOCK_TRAINER_COMM_VERBS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/comm/rank_group.h"

namespace penstock {

enum class ReduceOp : uint8_t { kSum, kAverage, kMin, kMax, kProduct };

struct AllreduceOptions {
  ReduceOp op = ReduceOp::kAverage;  // kAverage is for floating-point numbers only.
  double prescale = 1;               // Factors before and after the reduction.
  double postscale = 1;
};

// The position of a rank among the ranks with the same local rank, and the number of these ranks,
// for any assignment of ranks to hosts.
struct CrossPlace {
  size_t rank = 0;
  size_t size = 1;
};
CrossPlace FindCrossPlace(std::span<const size_t> local_ranks, size_t rank);

// An operation in flight. Copies refer to the same operation.
class RankHandle {
 public:
  // REQUIRES: the handle is of an operation that was started.
  bool done() const;

 private:
  friend class RankVerbs;
  struct Operation;
  std::shared_ptr<Operation> operation_;  // Shared with the thread that runs it.
};

// All ranks must call the same operations in the same order, with equal options and, unless stated
// otherwise, equal sizes. Operations run one after the other on a thread of this object. The memory
// of an asynchronous operation must stay valid until Wait(). Reductions add in rank order: the same
// bits on all ranks, and in every run with the same number of ranks. T is float, double, int32_t or
// int64_t.
//
// An error also ends all later operations. An error of another rank names that rank.
// kFailedPrecondition: before Init(), or after Shutdown(). Not thread-safe: use one thread.
class RankVerbs {
 public:
  RankVerbs();
  ~RankVerbs();  // Same as Shutdown().
  RankVerbs(const RankVerbs&) = delete;
  RankVerbs& operator=(const RankVerbs&) = delete;

  // Joins as the rank that the environment defines (see FindRank()). Returns once all ranks have
  // joined. After an error you may call it again.
  absl::Status Init(const RankOptions& rank = {}, const RankGroupOptions& options = {});
  // Joins as the rank of `info`.
  absl::Status Init(const RankInfo& info, const RankGroupOptions& options);
  bool IsInitialized() const { return group_ != nullptr; }
  // Waits for operations in flight. If `why` is an error, tells the others that this rank failed;
  // they end with it.
  absl::Status Shutdown(const absl::Status& why = absl::OkStatus());

  // REQUIRES for all of these: Init() has succeeded. Otherwise the program aborts with a message.
  size_t Rank() const { return info().rank; }
  size_t Size() const { return info().world_size; }
  size_t LocalRank() const { return info().local_rank; }
  size_t LocalSize() const { return info().local_size; }
  // Place among the ranks with the same local rank, one on each host that has this local rank.
  size_t CrossRank() const { return cross().rank; }
  size_t CrossSize() const { return cross().size; }

  // Replaces `values` by the reduction of all ranks' values.
  template <typename T>
  absl::Status Allreduce(std::span<T> values, const AllreduceOptions& options = {}) {
    return Wait(AllreduceAsync(values, options));
  }
  template <typename T>
  RankHandle AllreduceAsync(std::span<T> values, const AllreduceOptions& options = {}) {
    return GroupedAllreduceAsync<T>({values}, options);
  }
  // Reduces several arrays as one operation.
  template <typename T>
  absl::Status GroupedAllreduce(std::vector<std::span<T>> arrays,
                                const AllreduceOptions& options = {}) {
    return Wait(GroupedAllreduceAsync(std::move(arrays), options));
  }
  template <typename T>
  RankHandle GroupedAllreduceAsync(std::vector<std::span<T>> arrays,
                                   const AllreduceOptions& options = {});
  // Blocks until the operation is done. Calling it again returns the same result. kInvalidArgument:
  // no operation was started.
  absl::Status Wait(const RankHandle& handle);

  // Returns all ranks' values, in rank order. Each rank may have a different number of them.
  template <typename T>
  absl::StatusOr<std::vector<T>> Allgather(std::span<const T> values);
  // Replaces `values` by those of `root`.
  template <typename T>
  absl::Status Broadcast(std::span<T> values, size_t root) {
    return BroadcastBytes({reinterpret_cast<uint8_t*>(values.data()), values.size_bytes()}, root);
  }
  // Broadcasts parameters and optimizer state, array by array.
  absl::Status BroadcastParameters(std::span<const std::span<float>> arrays, size_t root);
  // Replaces `object` by that of `root`, whatever their sizes.
  absl::Status BroadcastObject(std::string& object, size_t root);
  // Sends splits[r] of `values` to rank r, in order. Returns the received values, in rank order.
  // kInvalidArgument: the splits do not add up to the number of values.
  template <typename T>
  absl::StatusOr<std::vector<T>> Alltoall(std::span<const T> values,
                                          std::span<const size_t> splits);
  // Returns this rank's part [rn/R, (r+1)n/R) of the reduction of n values.
  template <typename T>
  absl::StatusOr<std::vector<T>> Reducescatter(std::span<const T> values,
                                               const AllreduceOptions& options = {});
  absl::Status Barrier();
  // Returns the mean of one number over ranks.
  absl::StatusOr<double> MetricAverage(double value);

 private:
  class Worker;

  absl::Status CheckInitialized() const;
  const RankInfo& info() const;
  const CrossPlace& cross() const;
  RankHandle Start(std::function<absl::Status(Communicator&)> run);
  absl::Status BroadcastBytes(std::span<uint8_t> bytes, size_t root);
  absl::StatusOr<std::vector<size_t>> GatherSizes(size_t own);

  std::unique_ptr<RankGroup> group_;
  CrossPlace cross_;
  std::unique_ptr<Worker> worker_;  // Declared after group_, so that it is destroyed first.
};

struct DistributedOptimizerOptions {
  AllreduceOptions reduce = {};
  size_t backward_passes_per_step = 1;  // Gradients are summed locally over this many calls.
};

// Averages gradients over ranks before applying them. Not thread-safe.
class DistributedOptimizer {
 public:
  using Gradients = std::span<const std::span<float>>;

  // `ranks` must outlive this object. `apply` updates the weights from the reduced gradients.
  DistributedOptimizer(RankVerbs& ranks, std::function<void(Gradients)> apply,
                       const DistributedOptimizerOptions& options = {})
      : ranks_(ranks), apply_(std::move(apply)), options_(options) {}

  // Call it with the same arrays every time. Returns true after the last pass of a step: the arrays
  // then hold the reduced gradients, which were applied. Returns false if they were only added to
  // earlier ones.
  absl::StatusOr<bool> Step(Gradients gradients);

 private:
  RankVerbs& ranks_;
  const std::function<void(Gradients)> apply_;
  const DistributedOptimizerOptions options_;
  std::vector<std::vector<float>> sums_;  // Sums over the earlier passes.
  size_t passes_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_COMM_VERBS_H_
