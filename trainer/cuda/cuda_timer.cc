#include "trainer/cuda/cuda_timer.h"

#include <algorithm>
#include <limits>

#include "base/status.h"
#include "trainer/cuda/cuda_status.h"

namespace penstock {
namespace {

constexpr int kRunsInGraph = 10, kMeasurements = 3;

absl::Status Check(cudaError_t error) { return CudaStatus(error, "CUDA: timing a product"); }

// A graph of several runs, and the events around its launch.
class TimedGraph {
 public:
  explicit TimedGraph(cudaStream_t stream) : stream_(stream) {}
  ~TimedGraph() {
    if (graph_ != nullptr) (void)cudaGraphExecDestroy(graph_);
    for (cudaEvent_t event : {begin_, end_}) {
      if (event != nullptr) (void)cudaEventDestroy(event);
    }
  }
  TimedGraph(const TimedGraph&) = delete;
  TimedGraph& operator=(const TimedGraph&) = delete;

  absl::Status Capture(absl::FunctionRef<absl::Status()> run) {
    PENSTOCK_RETURN_IF_ERROR(Check(cudaEventCreate(&begin_)));
    PENSTOCK_RETURN_IF_ERROR(Check(cudaEventCreate(&end_)));
    PENSTOCK_RETURN_IF_ERROR(
        Check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal)));
    absl::Status queued;
    for (int i = 0; i < kRunsInGraph && queued.ok(); ++i) queued = run();
    cudaGraph_t graph = nullptr;
    absl::Status made = Check(cudaStreamEndCapture(stream_, &graph));
    if (!queued.ok()) made = queued;
    if (made.ok()) made = Check(cudaGraphInstantiate(&graph_, graph, 0));
    if (graph != nullptr) (void)cudaGraphDestroy(graph);
    return made;
  }
  absl::StatusOr<double> Launch() {
    float milliseconds = 0;
    PENSTOCK_RETURN_IF_ERROR(Check(cudaEventRecord(begin_, stream_)));
    PENSTOCK_RETURN_IF_ERROR(Check(cudaGraphLaunch(graph_, stream_)));
    PENSTOCK_RETURN_IF_ERROR(Check(cudaEventRecord(end_, stream_)));
    PENSTOCK_RETURN_IF_ERROR(Check(cudaEventSynchronize(end_)));
    PENSTOCK_RETURN_IF_ERROR(Check(cudaEventElapsedTime(&milliseconds, begin_, end_)));
    return milliseconds / 1e3 / kRunsInGraph;
  }

 private:
  const cudaStream_t stream_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
  cudaGraphExec_t graph_ = nullptr;
};

}  // namespace

// Two runs do not count. The first may load code, which is not possible in a graph, and the first
// launch brings the graph to the GPU.
absl::StatusOr<double> TimeOnGpu(cudaStream_t stream, absl::FunctionRef<absl::Status()> run) {
  PENSTOCK_RETURN_IF_ERROR(run());
  TimedGraph graph(stream);
  PENSTOCK_RETURN_IF_ERROR(graph.Capture(run));
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i <= kMeasurements; ++i) {
    PENSTOCK_ASSIGN_OR_RETURN(const double seconds, graph.Launch());
    if (i > 0) least = std::min(least, seconds);
  }
  return least;
}

}  // namespace penstock
