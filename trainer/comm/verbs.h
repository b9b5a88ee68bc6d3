// Data-parallel training with a loop of one's own, in the words of Horovod. Several ranks have
// SIGPIPE ignored where nobody decided otherwise: one that dies is an error, not the end of the
// others.
//
//   penstock::RankVerbs ranks;
//   PENSTOCK_RETURN_IF_ERROR(ranks.Init());           // Who am I? From the launcher's variables.
//   ranks.Broadcast(std::span(weights), /*root=*/0);   // All start with rank 0's.
//   penstock::DistributedOptimizer optimizer(ranks, apply);
//   for (...) optimizer.Step(gradients);  // Averages over ranks, then apply(gradients).
//   double loss = *ranks.MetricAverage(own_loss);
//
// Arrays lie in the host's memory and travel over TCP. trainer/comm/example is a whole program;
// start it with `penstock launch -np 4 -- program`. Not built: a GPU's memory, Adasum, process
// sets, torus.
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
  ReduceOp op = ReduceOp::kAverage;  // Of floating-point numbers only.
  double prescale = 1;               // Factors before and after the reduction.
  double postscale = 1;
};

// Place and number of the ranks with one's local rank, in order, however ranks are dealt to hosts.
struct CrossPlace {
  size_t rank = 0;
  size_t size = 1;
};
CrossPlace FindCrossPlace(std::span<const size_t> local_ranks, size_t rank);

// Of an operation under way; copies mean the same one.
class RankHandle {
 public:
  // REQUIRES: of an operation that was started.
  bool done() const;

 private:
  friend class RankVerbs;
  struct Operation;
  std::shared_ptr<Operation> operation_;  // Shared with the thread that runs it.
};

// All ranks call the same operations in the same order, with equal options and, where not said
// otherwise, equal sizes. They run one after the other on a thread of this object's; the memory of
// an asynchronous one must stay until Wait(). Reductions add in the order of the ranks: the same
// bits on all of them, and in every run with as many ranks. T is float, double, int32_t or int64_t.
//
// An error ends all later operations too; one of another rank names that rank.
// kFailedPrecondition: before Init(), or after Shutdown(). Used by one thread.
class RankVerbs {
 public:
  RankVerbs();
  ~RankVerbs();  // As Shutdown().
  RankVerbs(const RankVerbs&) = delete;
  RankVerbs& operator=(const RankVerbs&) = delete;

  // The rank that the environment says (see FindRank()); returns once all ranks are here. After an
  // error it is as before, and may be tried again.
  absl::Status Init(const RankOptions& rank = {}, const RankGroupOptions& options = {});
  // As this rank.
  absl::Status Init(const RankInfo& info, const RankGroupOptions& options);
  bool IsInitialized() const { return group_ != nullptr; }
  // Waits for what is under way. `why`: tells the others that this rank failed; they end with it.
  absl::Status Shutdown(const absl::Status& why = absl::OkStatus());

  // REQUIRES, of all of these: initialized; else the program ends with a word.
  size_t Rank() const { return info().rank; }
  size_t Size() const { return info().world_size; }
  size_t LocalRank() const { return info().local_rank; }
  size_t LocalSize() const { return info().local_size; }
  // Among the ranks with the same local rank, one of each host that has as many.
  size_t CrossRank() const { return cross().rank; }
  size_t CrossSize() const { return cross().size; }

  // `values` become the reduction of all ranks' values.
  template <typename T>
  absl::Status Allreduce(std::span<T> values, const AllreduceOptions& options = {}) {
    return Wait(AllreduceAsync(values, options));
  }
  template <typename T>
  RankHandle AllreduceAsync(std::span<T> values, const AllreduceOptions& options = {}) {
    return GroupedAllreduceAsync<T>({values}, options);
  }
  // Several arrays as one operation.
  template <typename T>
  absl::Status GroupedAllreduce(std::vector<std::span<T>> arrays,
                                const AllreduceOptions& options = {}) {
    return Wait(GroupedAllreduceAsync(std::move(arrays), options));
  }
  template <typename T>
  RankHandle GroupedAllreduceAsync(std::vector<std::span<T>> arrays,
                                   const AllreduceOptions& options = {});
  // Blocks until it is done. Again: the same result. kInvalidArgument: no operation was started.
  absl::Status Wait(const RankHandle& handle);

  // All ranks' values, rank after rank; each may have another number of them.
  template <typename T>
  absl::StatusOr<std::vector<T>> Allgather(std::span<const T> values);
  // `values` become those of `root`.
  template <typename T>
  absl::Status Broadcast(std::span<T> values, size_t root) {
    return BroadcastBytes({reinterpret_cast<uint8_t*>(values.data()), values.size_bytes()}, root);
  }
  // Parameters and optimizer state, array by array.
  absl::Status BroadcastParameters(std::span<const std::span<float>> arrays, size_t root);
  // Of any size; `object` becomes root's.
  absl::Status BroadcastObject(std::string& object, size_t root);
  // splits[r] values go to rank r, in order; returns what came, rank after rank.
  // kInvalidArgument: the splits do not add up to the values.
  template <typename T>
  absl::StatusOr<std::vector<T>> Alltoall(std::span<const T> values,
                                          std::span<const size_t> splits);
  // This rank's part [rn/R, (r+1)n/R) of the reduction of n values.
  template <typename T>
  absl::StatusOr<std::vector<T>> Reducescatter(std::span<const T> values,
                                               const AllreduceOptions& options = {});
  absl::Status Barrier();
  // The mean of one number over ranks.
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
  std::unique_ptr<Worker> worker_;  // After group_: it ends first.
};

struct DistributedOptimizerOptions {
  AllreduceOptions reduce = {};
  size_t backward_passes_per_step = 1;  // Gradients are added up here over so many calls.
};

// Averages gradients over ranks before they are applied. Not thread-safe.
class DistributedOptimizer {
 public:
  using Gradients = std::span<const std::span<float>>;

  // `ranks` must outlive it. `apply` updates the weights from the reduced gradients.
  DistributedOptimizer(RankVerbs& ranks, std::function<void(Gradients)> apply,
                       const DistributedOptimizerOptions& options = {})
      : ranks_(ranks), apply_(std::move(apply)), options_(options) {}

  // The same arrays in every call. True: this was the last pass of a step, and they now hold the
  // reduced gradients, which were applied; false: they were added to those before.
  absl::StatusOr<bool> Step(Gradients gradients);

 private:
  RankVerbs& ranks_;
  const std::function<void(Gradients)> apply_;
  const DistributedOptimizerOptions options_;
  std::vector<std::vector<float>> sums_;  // Of the passes before this one.
  size_t passes_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_COMM_VERBS_H_
