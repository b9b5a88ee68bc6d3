#include "bench/shared_service.h"

#include <barrier>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "bench/server_process.h"
#include "client/loader/loader.h"
#include "client/transport/grpc/stats_call.h"
#include "records/decode/spec.h"

namespace penstock {
namespace {

constexpr uint64_t kStepsTogether = 8;

double RowsDecoded(const v1::EngineStats& stats) {
  return static_cast<double>(stats.rows_decoded() - stats.strip_rows() +
                             stats.strip_rows_decoded());
}

// Ranks that take steps, each on its own thread.
class Ranks {
 public:
  absl::Status Open(const LoaderOptions& options, uint32_t jobs, uint32_t max_ranks) {
    for (uint32_t job = 0; job < jobs; ++job) {
      LoaderOptions of_job = options;
      of_job.world_size = job % max_ranks + 1;
      for (of_job.rank = 0; of_job.rank < of_job.world_size; ++of_job.rank) {
        PENSTOCK_ASSIGN_OR_RETURN(auto loader, Loader::Open(of_job));
        loaders_.push_back(std::move(loader));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Take(uint64_t steps) {
    std::barrier<> together(static_cast<ptrdiff_t>(loaders_.size()));
    std::vector<std::jthread> threads;
    for (auto& loader : loaders_) {
      threads.emplace_back([&] {
        Batch batch;
        for (uint64_t step = 0; step < steps; ++step) {
          if (step % kStepsTogether == 0) together.arrive_and_wait();
          Note(loader->Next(batch).status());
        }
      });
    }
    threads.clear();
    MutexLock lock(&mutex_);
    return status_;
  }

 private:
  void Note(const absl::Status& status) {
    MutexLock lock(&mutex_);
    status_.Update(status);
  }

  std::vector<std::unique_ptr<Loader>> loaders_;
  Mutex mutex_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<SharedServiceCost> MeasureSharedService(const std::string& folder,
                                                       std::shared_ptr<const Manifest> manifest,
                                                       const SharedServiceOptions& options) {
  PENSTOCK_ASSIGN_OR_RETURN(auto server,
                            ServerProcess::Start(folder, {"--strip-cache", options.strip_cache}));
  LoaderOptions loading;
  loading.manifest = std::move(manifest);
  loading.servers = server->address();
  PENSTOCK_ASSIGN_OR_RETURN(loading.spec, LoadSpec("chess"));
  loading.dtype = options.dtype;
  loading.plan.split = Split::kAll;
  loading.global_batch_size = options.batch;
  loading.epochs = 0;
  loading.look_ahead_bytes = uint64_t{16} << 20;
  Ranks ranks;
  PENSTOCK_RETURN_IF_ERROR(ranks.Open(loading, options.jobs, options.max_ranks));
  PENSTOCK_RETURN_IF_ERROR(ranks.Take(options.steps / 4 + 1));
  const auto caller = MakeStatsCaller(server->address());
  PENSTOCK_ASSIGN_OR_RETURN(const v1::ServerStats before, caller->Ask(absl::Seconds(60)));
  const double cpu = server->CpuSeconds();
  PENSTOCK_RETURN_IF_ERROR(ranks.Take(options.steps));
  const auto rows = static_cast<double>(options.batch * options.steps);
  const double seconds = server->CpuSeconds() - cpu;
  PENSTOCK_ASSIGN_OR_RETURN(const v1::ServerStats after, caller->Ask(absl::Seconds(60)));
  return SharedServiceCost{
      .server_cpu_ns_per_row = 1e9 * seconds / rows,
      .decoded = (RowsDecoded(after.engine()) - RowsDecoded(before.engine())) / rows,
      .bytes_per_part =
          static_cast<double>(after.engine().bytes_out() - before.engine().bytes_out()) /
          static_cast<double>(after.engine().parts() - before.engine().parts())};
}

}  // namespace penstock
