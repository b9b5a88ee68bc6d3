#include "records/engine/engine.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/process/machine_limits.h"
#include "base/process/process_limits.h"
#include "base/process/process_stats.h"
#include "base/process/start_thread.h"
#include "base/status.h"
#include "records/engine/decoding.h"
#include "records/engine/record_packer.h"
#include "records/engine/worker.h"

namespace penstock {
namespace {

// Parts get at most 1/kPartShare of the memory budget.
constexpr uint64_t kPartShare = 8;
// Room for the definitions of 150 clients with 128 windows of 16 chunks.
constexpr uint64_t kMinDefinitionBytes = uint64_t{64} << 20;
// Free memory that is kept for parts: enough for a few busy sessions.
constexpr uint64_t kMostKeptPartBytes = uint64_t{32} << 20;

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PENSTOCK_ENGINE_ORDINARY_MEMORY  // The sanitizer cannot check our own allocator.
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define PENSTOCK_ENGINE_ORDINARY_MEMORY
#endif

std::shared_ptr<PageMemory> MakeMemory([[maybe_unused]] const EngineOptions& options) {
#if defined(PENSTOCK_ENGINE_ORDINARY_MEMORY)
  return std::make_shared<PageMemory>(0, 0);
#else
  if (AddressSpaceLimit().has_value()) return std::make_shared<PageMemory>(0, 0);
  constexpr uint64_t kMost = uint64_t{1} << 44;  // A process has 2^47 bytes of addresses.
  const uint64_t in_use = std::min(options.memory_budget, kMost) + options.limits.engine_part_bytes;
  return std::make_shared<PageMemory>(4 * in_use, options.memory_budget / 64);
#endif
}

// Parts count in the budget too, but if it is small, those of one session may exceed their share.
EngineOptions Completed(EngineOptions options) {
  const MachineLimits machine = ReadMachineLimits();
  if (options.threads == 0) options.threads = machine.cores;
  if (options.memory_budget == 0) options.memory_budget = machine.memory_bytes / 4;
  options.limits.cached_part_bytes =
      std::max(options.limits.cached_part_bytes, options.threads * (uint64_t{2} << 20));
  // Most descriptors are for connections and for files that are being read.
  options.limits.max_open_files =
      std::clamp<size_t>(DescriptorLimit() / 4, 1, options.limits.max_open_files);
  options.strip_cache = std::min(options.strip_cache, options.memory_budget / 8);
  EngineLimits& limits = options.limits;
  limits.engine_part_bytes = std::clamp(options.memory_budget / kPartShare,
                                        limits.session_part_bytes, limits.engine_part_bytes);
  limits.max_definition_bytes = std::min(limits.max_definition_bytes,
                                         std::max(options.memory_budget / 4, kMinDefinitionBytes));
  return options;
}

// The threads, and the one for short jobs.
uint64_t NumDecoders(const EngineOptions& options) { return uint64_t{options.threads} + 1; }

// Returns what each thread may use and keep for decoding images, without asking. All threads
// together have at most a sixteenth of the budget.
uint64_t UnaskedImageBytes(const EngineOptions& options) {
  constexpr uint64_t kShare = 16;
  return std::min(ImageMemory::kMostUnasked, options.memory_budget / kShare / NumDecoders(options));
}

// Returns the part of the budget for chunks and windows.
uint64_t StoreBudget(const EngineOptions& options) {
  return options.memory_budget - options.strip_cache -
         std::min(options.limits.engine_part_bytes, options.memory_budget / kPartShare);
}

uint64_t NewInstance() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

}  // namespace

absl::Status EngineOptions::Validate() const {
  if (data_root.empty()) return absl::InvalidArgumentError("data_root is empty");
  if (limits.session_part_bytes < PartBuffer::kMaxPartBytes ||
      limits.engine_part_bytes < limits.session_part_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "session_part_bytes is ", limits.session_part_bytes, " and engine_part_bytes is ",
        limits.engine_part_bytes, ": both must be at least ", PartBuffer::kMaxPartBytes,
        ", and engine_part_bytes at least session_part_bytes"));
  }
  if (std::max(threads, read_threads) > kMaxThreads) {
    return absl::InvalidArgumentError(absl::StrCat("threads is ", threads, " and read_threads is ",
                                                   read_threads, ": each may be at most ",
                                                   kMaxThreads));
  }
  if (limits.max_open_files == 0) return absl::InvalidArgumentError("max_open_files is 0");
  return absl::OkStatus();
}

// The session through which the server's reactor and the local transport serve a client.
class Engine::EngineSession final : public Session {
 public:
  EngineSession(JobScheduler& scheduler, PartPool& pool, SessionState& state,
                const ServerInfo& info)
      : scheduler_(scheduler), pool_(pool), state_(state), info_(info) {}
  ~EngineSession() override {
    scheduler_.EndSession(state_);
    state_.home.reset();
    scheduler_.ForgetSession(state_);
  }

  absl::Status OpenWindow(penstock::OpenWindow window) override {
    return scheduler_.OpenWindow(state_, std::move(window));
  }
  absl::Status Fetch(const penstock::Fetch& fetch) override {
    return scheduler_.Fetch(state_, fetch);
  }
  void Cancel(uint64_t request) override { scheduler_.Cancel(state_, request); }
  absl::Status Release(uint64_t window) override { return scheduler_.Release(state_, window); }
  ServerInfo info() const override { return info_; }
  SessionStats stats() const override { return scheduler_.stats(state_); }
  void UsePartMemory(std::shared_ptr<PartMemory> memory) override {
    scheduler_.LimitParts(state_, memory->size());
    pool_.Lend(*state_.home, std::move(memory));
  }

 private:
  JobScheduler& scheduler_;
  PartPool& pool_;
  SessionState& state_;
  const ServerInfo info_;
};

absl::StatusOr<std::unique_ptr<Engine>> Engine::Create(const EngineOptions& options) {
  PENSTOCK_RETURN_IF_ERROR(options.Validate());
  PENSTOCK_ASSIGN_OR_RETURN(Root root, Root::Open(options.data_root));
  std::unique_ptr<Engine> engine(new Engine(Completed(options), std::move(root)));
  PENSTOCK_RETURN_IF_ERROR(engine->StartThreads());
  return engine;
}

Engine::Engine(EngineOptions options, Root root)
    : options_(std::move(options)),
      instance_(NewInstance()),
      root_(std::move(root)),
      files_(root_, options_.limits.max_open_files),
      speed_(options_.limits.slow_read),
      memory_(MakeMemory(options_)),
      pool_(std::make_shared<PartPool>(
          memory_, std::min(kMostKeptPartBytes, options_.limits.engine_part_bytes / 4),
          options_.strip_cache, [this] { scheduler_.PartReturned(); })),
      scheduler_(StoreBudget(options_), options_.limits, pool_->ledger(), options_.strip_cache > 0,
                 speed_),
      strips_(*pool_, options_.strip_cache),
      images_(
          options_.memory_budget / 4, UnaskedImageBytes(options_),
          [this](uint64_t bytes) { scheduler_.HoldImages(bytes); },
          [this](uint64_t bytes) { scheduler_.LetGoOfImages(bytes); }) {}

absl::Status Engine::StartThreads() {
  while (threads_.size() < options_.threads) {
    PENSTOCK_ASSIGN_OR_RETURN(std::jthread thread,
                              StartThread("that loads and decodes",
                                          [this, number = threads_.size()] { RunThread(number); }));
    threads_.push_back(std::move(thread));
  }
  return absl::OkStatus();
}

Engine::~Engine() {
  scheduler_.Stop();
  short_jobs_ = {};
  threads_.clear();
  readers_.clear();
  pool_->Close();
}

void Engine::RunThread(size_t number) {
  const ThreadNameScope name(options_.spans, absl::StrCat("engine thread ", number));
  Worker worker(scheduler_, files_, *memory_, *pool_, strips_, speed_, images_, times_,
                Worker::Waits::kLoading, options_.spans);
  for (Work work; scheduler_.Next(work);) {
    worker.Do(work);
    if (speed_.slow()) std::call_once(readers_started_, [this] { StartReaders(); });
  }
}

// Called only if storage is slow. If threads cannot be started, there are fewer readers: reading
// ahead must neither end a server nor take threads that gRPC will need later.
void Engine::StartReaders() {
  const absl::StatusOr<std::unique_ptr<ThreadsOfGrpc>> left = ThreadsOfGrpc::Reserve();
  if (!left.ok()) return;
  while (readers_.size() < options_.read_threads) {
    absl::StatusOr<std::jthread> reader =
        StartThread("that reads", [this, number = readers_.size()] { RunReader(number); });
    if (!reader.ok()) return;
    readers_.push_back(*std::move(reader));
  }
}

void Engine::ExpectImages() {
  scheduler_.Reserve(NumDecoders(options_) * images_.unasked_bytes());
  const absl::StatusOr<std::unique_ptr<ThreadsOfGrpc>> left = ThreadsOfGrpc::Reserve();
  if (!left.ok()) return;
  absl::StatusOr<std::jthread> thread = StartThread("for short jobs", [this] { RunShortJobs(); });
  if (thread.ok()) short_jobs_ = *std::move(thread);
}

void Engine::RunShortJobs() {
  const ThreadNameScope name(options_.spans, "engine thread for short jobs");
  Worker worker(scheduler_, files_, *memory_, *pool_, strips_, speed_, images_, times_,
                Worker::Waits::kLoading, options_.spans);
  for (Work work; scheduler_.NextShort(work);) worker.Do(work);
}

void Engine::RunReader(size_t number) {
  const ThreadNameScope name(options_.spans, absl::StrCat("reader ", number));
  Worker worker(scheduler_, files_, *memory_, *pool_, strips_, speed_, images_, times_,
                Worker::Waits::kApart, options_.spans);
  for (Work work; scheduler_.NextLoad(work);) {
    worker.Do(work);
    worker.FreeMemory();  // The memory of many readers would add up.
  }
}

EngineStats Engine::stats() const {
  EngineStats stats = scheduler_.stats();
  stats.instance = instance_;
  stats.threads = options_.threads;
  stats.strip_bytes = strips_.bytes();
  stats.slow_reads = speed_.slow_reads();
  if (const std::optional<StorageSpeed::LongRead> longest = speed_.Longest()) {
    stats.longest_read_seconds = std::chrono::duration<double>(longest->lasts).count();
    stats.longest_read_shard = longest->shard;
  }
  stats.load_seconds = times_.seconds(JobTimes::kLoad);
  stats.build_seconds = times_.seconds(JobTimes::kBuild);
  stats.decode_seconds = times_.seconds(JobTimes::kDecode);
  stats.send_seconds = times_.seconds(JobTimes::kSend);
  stats.read_seconds = times_.seconds(JobTimes::kRead);
  const std::chrono::duration<double> age = JobTimes::Clock::now() - started_;
  stats.capacity_seconds = options_.threads * age.count();
  return stats;
}

std::shared_ptr<const ChunkLayout> Engine::Intern(ChunkLayout layout) {
  MutexLock lock(&mutex_);
  std::weak_ptr<const ChunkLayout>& known = layouts_[layout.key()];
  if (std::shared_ptr<const ChunkLayout> shared = known.lock()) return shared;
  auto shared = std::make_shared<const ChunkLayout>(std::move(layout));
  known = shared;
  std::erase_if(layouts_, [](const auto& entry) { return entry.second.expired(); });
  return shared;
}

absl::StatusOr<std::shared_ptr<const Decodings>> Engine::DecodingsFor(
    const StreamOptions& options) {
  const std::string key = absl::StrCat(options.record_ids, options.replace_undecodable, ":",
                                       options.spec.SerializeAsString());
  {
    MutexLock lock(&mutex_);
    auto known = decodings_.find(key);
    if (known != decodings_.end()) {
      if (auto shared = known->second.lock()) return shared;
    }
  }
  PENSTOCK_ASSIGN_OR_RETURN(Decodings compiled, Decodings::Compile(options));
  auto added = std::make_shared<const Decodings>(std::move(compiled));
  MutexLock lock(&mutex_);
  std::erase_if(decodings_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<const Decodings>& known = decodings_[key];
  if (auto shared = known.lock()) return shared;  // Another thread was faster.
  known = added;
  return added;
}

absl::StatusOr<std::unique_ptr<Session>> Engine::OpenSession(const StreamOptions& options,
                                                             SessionEvents& events) {
  PENSTOCK_ASSIGN_OR_RETURN(std::shared_ptr<const Decodings> decodings, DecodingsFor(options));
  ChunkLayout layout(decodings->features(), options.holdout_feature, options.holdout_threshold);
  PENSTOCK_RETURN_IF_ERROR(RecordPacker::Create(layout).status());
  auto state = std::make_unique<SessionState>(events, decodings);
  state->layout = Intern(std::move(layout));
  if (decodings->images().decodes()) {
    std::call_once(images_expected_, [this] { ExpectImages(); });
  }
  state->record_ids = options.record_ids;
  state->knows_ids = options.record_ids || decodings->images().decodes() || decodings->replaces();
  state->checksums = options.checksums;
  // Only parts can say which rows were replaced.
  state->decodes_rows = events.DecodesRows() && !decodings->replaces();
  state->share_parts = !state->decodes_rows;
  state->home = pool_->MakeHome();
  PENSTOCK_ASSIGN_OR_RETURN(SessionState * added, scheduler_.AddSession(std::move(state)));
  return std::make_unique<EngineSession>(scheduler_, *pool_, *added, Describe(*decodings));
}

ServerInfo Engine::Describe(const Decodings& decodings) const {
  return {.instance = instance_,
          .cores = options_.threads,
          .decoder_version = kDecoderVersion,
          .spec_fingerprint = decodings.fingerprint(),
          .memory_budget = options_.memory_budget};
}

}  // namespace penstock
