#include "records/engine/engine.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "records/base/status.h"
#include "records/engine/chunk_loader.h"
#include "records/engine/decoding.h"
#include "records/engine/job_rows.h"
#include "records/engine/machine_limits.h"
#include "records/engine/piece.h"
#include "records/engine/record_packer.h"

namespace penstock {
namespace {

// Parts get this part of the memory budget at most.
constexpr uint64_t kPartShare = 8;
// What 150 clients of 128 windows of 16 chunks define.
constexpr uint64_t kMinDefinitionBytes = uint64_t{64} << 20;
// Free part memory that is kept: the parts of a few busy sessions.
constexpr uint64_t kMostKeptPartBytes = uint64_t{32} << 20;

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PENSTOCK_ENGINE_ORDINARY_MEMORY  // The sanitizer sees nothing of ours.
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define PENSTOCK_ENGINE_ORDINARY_MEMORY
#endif

std::shared_ptr<PageMemory> MakeMemory([[maybe_unused]] const EngineOptions& options) {
#if defined(PENSTOCK_ENGINE_ORDINARY_MEMORY)
  return std::make_shared<PageMemory>(0, 0);
#else
  constexpr uint64_t kMost = uint64_t{1} << 44;  // A process has 2^47 bytes of addresses.
  const uint64_t in_use = std::min(options.memory_budget, kMost) + options.limits.engine_part_bytes;
  return std::make_shared<PageMemory>(4 * in_use, options.memory_budget / 64);
#endif
}

// Parts are in the budget too, but where it is small one session's lie beside it.
EngineOptions Completed(EngineOptions options) {
  const MachineLimits machine = ReadMachineLimits();
  if (options.threads == 0) options.threads = machine.cores;
  if (options.memory_budget == 0) options.memory_budget = machine.memory_bytes / 4;
  options.limits.cached_part_bytes =
      std::max(options.limits.cached_part_bytes, options.threads * (uint64_t{2} << 20));
  options.strip_cache = std::min(options.strip_cache, options.memory_budget / 8);
  EngineLimits& limits = options.limits;
  limits.engine_part_bytes = std::clamp(options.memory_budget / kPartShare,
                                        limits.session_part_bytes, limits.engine_part_bytes);
  limits.max_definition_bytes = std::min(limits.max_definition_bytes,
                                         std::max(options.memory_budget / 4, kMinDefinitionBytes));
  return options;
}

// What is left of the budget for chunks and windows.
uint64_t StoreBudget(const EngineOptions& options) {
  return options.memory_budget - options.strip_cache -
         std::min(options.limits.engine_part_bytes, options.memory_budget / kPartShare);
}

uint64_t NewInstance() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

void TellFailedWindow(const WindowState& window) {
  LoadError error = Unshared(window.error);
  window.session->events.OnError({.request = std::nullopt,
                                  .window = window.definition.window,
                                  .status = std::move(error.status),
                                  .damage = std::move(error.damage)});
}

void TellFailedRequest(const RequestState& request) {
  LoadError error = Unshared(request.refusal.ok() ? request.window->error
                                                  : LoadError{request.refusal, std::nullopt});
  request.window->session->events.OnError({.request = request.number,
                                           .window = std::nullopt,
                                           .status = std::move(error.status),
                                           .damage = std::move(error.damage)});
}

absl::StatusOr<WindowRows> BuildRows(const WindowState& window) {
  std::vector<WindowChunk> chunks;
  for (size_t i = 0; i < window.chunks.size(); ++i) {
    chunks.push_back({&window.chunks[i]->chunk, window.definition.chunks[i].ordinal});
  }
  auto rows =
      WindowRows::Build(chunks, window.session->layout->row_bytes(),
                        {window.definition.split, window.definition.shuffle, window.definition.key},
                        window.session->record_ids);
  if (rows.ok()) return rows;
  return Annotate(rows.status(), absl::StrCat("window ", window.definition.window));
}

// What a thread works with.
class Worker {
 public:
  Worker(Scheduler& scheduler, FileCache& files, PageMemory& memory, PartPool& pool,
         StripCache& strips, JobTimes& times)
      : scheduler_(scheduler),
        pool_(pool),
        strips_(strips),
        times_(times),
        loader_(files, memory) {}

  // Leaves in `work` what was answered.
  void Do(Work& work) {
    const JobTimes::Activity activity = JobTimes::ActivityOf(work.jobs.front().kind);
    sending_ = {};
    const auto start = JobTimes::Clock::now();
    if (work.jobs.front().kind == Job::Kind::kDecode) {
      Decode(work);
    } else {
      Run(work.jobs.front());
      work.jobs.clear();
    }
    times_.Add(activity, JobTimes::Clock::now() - start - sending_);
    times_.Add(JobTimes::kSend, sending_);
  }

 private:
  void Decode(Work& work) {
    const Job& job = work.jobs.front();
    if (job.block.rows > 0) return DecodeShared(work);
    if (job.session->decodes_rows) return DecodeRows(work);
    PartBuffer part(job.session->home.get(), pool_.Take(*job.session->home, job.bytes()),
                    job.bytes());
    work.decoded.counters = decoder_.Decode(PieceOf(job), part.bytes());
    parts_.push_back(std::move(part));
    Send(work.jobs);
  }

  void Run(const Job& job) {
    switch (job.kind) {
      case Job::Kind::kLoad:
        return Load(job);
      case Job::Kind::kBuild:
        return Build(job);
      case Job::Kind::kRefuseWindow:
        TellFailedWindow(*job.window);
        return scheduler_.FinishRefusal(job);
      case Job::Kind::kRefuseRequest:
        TellFailedRequest(*job.request);
        return scheduler_.FinishRefusal(job);
      case Job::Kind::kDecode:
        return;  // Not a job of one.
    }
  }

  void Load(const Job& job) {
    LoadError error;
    std::optional<Chunk> chunk =
        loader_.Load(job.chunk->shard, job.chunk->ref, job.chunk->layout, job.chunk->damage, error);
    scheduler_.FinishLoad(job, std::move(chunk), error);
  }

  void Build(const Job& job) {
    WindowState& window = *job.window;
    std::shared_ptr<const SharedWindow> shared = scheduler_.FindRows(job);
    if (shared == nullptr) {
      absl::StatusOr<WindowRows> rows = BuildRows(window);
      if (!rows.ok()) return scheduler_.FailBuild(job, rows.status());
      shared = scheduler_.AddRows(job, *std::move(rows));
    }
    if (!window.announced) {
      job.session->events.OnWindowReady(window.definition.window, window.read_bytes);
    }
    scheduler_.FinishBuild(job, std::move(shared));
  }

  // What the client does in the event counts as decoding.
  void DecodeRows(Work& work) {
    JobRows rows(work.jobs.front(), decoder_);
    work.jobs.front().session->events.OnRows(rows);
    work.decoded = rows.decoded();
  }

  // Answers all who wait for rows of the block that the jobs ask for, or leaves them to the thread
  // that decodes it.
  void DecodeShared(Work& work) {
    const Job leader = work.jobs.front();
    const Decoding& decoding = *leader.request->decoding;
    const StripCache::Key key{leader.window->shared->id, &decoding,
                              leader.block.first_row / decoding.block_rows};
    std::span<uint8_t> memory;
    switch (strips_.Claim(key, work.jobs, memory)) {
      case StripCache::Answer::kWaiting:
        return work.jobs.clear();
      case StripCache::Answer::kDecode:
        work.decoded = DecodeBlock(leader, memory);
        strips_.Publish(key, work.jobs);
        break;
      case StripCache::Answer::kReady:
        break;
    }
    homes_.clear();
    size_t leaders = 0;
    for (const Job& job : work.jobs) {
      homes_.push_back(job.session->home.get());
      if (job.leads) ++leaders;
    }
    pool_.Share(homes_, leaders, memory);
    for (const Job& job : work.jobs) parts_.push_back(PiecesOf(job, memory));
    Send(work.jobs);
    uint64_t rows = 0;
    for (const Job& job : work.jobs) rows += job.rows;
    strips_.Release(key, rows);
  }

  Decoded DecodeBlock(const Job& job, std::span<uint8_t> memory) {
    const RowPattern all{job.block.first_row, job.block.rows, job.block.rows, 1};
    const Piece block{job.request->decoding->program,
                      *job.session->layout,
                      job.window->shared->rows,
                      all,
                      0,
                      job.block.rows};
    return {decoder_.Decode(block, memory.first(job.decoded_bytes())), job.block.rows};
  }

  // What the job asks for of its block in `memory`.
  static PartBuffer PiecesOf(const Job& job, std::span<uint8_t> memory) {
    const std::span<const TensorInfo> tensors = job.request->decoding->program.tensors();
    PartPieces pieces;
    pieces.reserve((tensors.size() + 1) * MostRuns(job.request->pattern, job.rows));
    std::span<uint8_t> tensor = memory;
    const auto add_tensor = [&](size_t row_bytes) {
      ForEachRun(job.request->pattern, job.begin, job.rows, [&](uint64_t row, uint64_t n) {
        pieces.push_back(tensor.subspan((row - job.block.first_row) * row_bytes, n * row_bytes));
      });
      tensor = tensor.subspan(job.block.rows * row_bytes);
    };
    for (const TensorInfo& info : tensors) add_tensor(info.row_bytes);
    if (job.session->record_ids) add_tensor(sizeof(int64_t));
    return PartBuffer(job.session->home.get(), memory, std::move(pieces));
  }

  // parts_[i] answers jobs[i].
  void Send(std::span<const Job> jobs) {
    for (size_t i = 0; i < jobs.size(); ++i) {
      parts_[i].request = jobs[i].request->number;
      parts_[i].first_row = static_cast<uint32_t>(jobs[i].begin);
      parts_[i].rows = jobs[i].rows;
      if (jobs[i].session->checksums) parts_[i].crc32c = parts_[i].ComputeCrc32c();
    }
    const auto start = JobTimes::Clock::now();
    for (size_t i = 0; i < jobs.size(); ++i) jobs[i].session->events.OnPart(std::move(parts_[i]));
    sending_ = JobTimes::Clock::now() - start;
    parts_.clear();
  }

  Scheduler& scheduler_;
  PartPool& pool_;
  StripCache& strips_;
  JobTimes& times_;
  JobTimes::Clock::duration sending_{};  // Of the job under way.
  ChunkLoader loader_;
  PieceDecoder decoder_;
  std::vector<PartBuffer> parts_;
  std::vector<PartPool::Home*> homes_;
};

}  // namespace

absl::Status EngineOptions::Validate() const {
  if (data_root.empty()) return absl::InvalidArgumentError("data_root is empty");
  if (limits.session_part_bytes < PartBuffer::kMaxPartBytes ||
      limits.engine_part_bytes < limits.session_part_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("session_part_bytes ", limits.session_part_bytes, " and engine_part_bytes ",
                     limits.engine_part_bytes, ": neither may be below a part of ",
                     PartBuffer::kMaxPartBytes, ", nor the second below the first"));
  }
  if (threads > kMaxThreads) {
    return absl::InvalidArgumentError(absl::StrCat(threads, " threads; at most ", kMaxThreads));
  }
  if (limits.max_open_files == 0) return absl::InvalidArgumentError("max_open_files is 0");
  return absl::OkStatus();
}

// The server's reactor and the local transport speak to a client through this.
class Engine::EngineSession final : public Session {
 public:
  EngineSession(Scheduler& scheduler, PartPool& pool, SessionState& state)
      : scheduler_(scheduler), pool_(pool), state_(state) {}
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
  SessionStats stats() const override { return scheduler_.stats(state_); }
  void UsePartMemory(std::shared_ptr<PartMemory> memory) override {
    scheduler_.LimitParts(state_, memory->size());
    pool_.Lend(*state_.home, std::move(memory));
  }

 private:
  Scheduler& scheduler_;
  PartPool& pool_;
  SessionState& state_;
};

absl::StatusOr<std::unique_ptr<Engine>> Engine::Create(const EngineOptions& options) {
  PENSTOCK_RETURN_IF_ERROR(options.Validate());
  PENSTOCK_ASSIGN_OR_RETURN(Root root, Root::Open(options.data_root));
  return std::unique_ptr<Engine>(new Engine(Completed(options), std::move(root)));
}

Engine::Engine(EngineOptions options, Root root)
    : options_(std::move(options)),
      instance_(NewInstance()),
      root_(std::move(root)),
      files_(root_, options_.limits.max_open_files),
      memory_(MakeMemory(options_)),
      pool_(std::make_shared<PartPool>(
          memory_, std::min(kMostKeptPartBytes, options_.limits.engine_part_bytes / 4),
          options_.strip_cache, [this] { scheduler_.PartReturned(); })),
      scheduler_(StoreBudget(options_), options_.limits, pool_->ledger(), options_.strip_cache > 0),
      strips_(*pool_, options_.strip_cache) {
  for (uint32_t i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { RunThread(); });
}

Engine::~Engine() {
  scheduler_.Stop();
  threads_.clear();
  pool_->Close();
}

void Engine::RunThread() {
  Worker worker(scheduler_, files_, *memory_, *pool_, strips_, times_);
  for (Work work; scheduler_.Next(work);) worker.Do(work);
}

EngineStats Engine::stats() const {
  EngineStats stats = scheduler_.stats();
  stats.instance = instance_;
  stats.threads = options_.threads;
  stats.strip_bytes = strips_.bytes();
  stats.load_seconds = times_.seconds(JobTimes::kLoad);
  stats.build_seconds = times_.seconds(JobTimes::kBuild);
  stats.decode_seconds = times_.seconds(JobTimes::kDecode);
  stats.send_seconds = times_.seconds(JobTimes::kSend);
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
    const StreamOptions& options) const {
  const std::string key = absl::StrCat(options.record_ids, ":", options.spec.SerializeAsString());
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
  auto state = std::make_unique<SessionState>(events, std::move(decodings));
  state->layout = Intern(std::move(layout));
  state->record_ids = options.record_ids;
  state->checksums = options.checksums;
  state->decodes_rows = events.DecodesRows();
  state->share_parts = !state->decodes_rows;
  state->home = pool_->MakeHome();
  PENSTOCK_ASSIGN_OR_RETURN(SessionState * added, scheduler_.AddSession(std::move(state)));
  return std::make_unique<EngineSession>(scheduler_, *pool_, *added);
}

absl::StatusOr<ServerInfo> Engine::Describe(const StreamOptions& options) const {
  PENSTOCK_ASSIGN_OR_RETURN(std::shared_ptr<const Decodings> decodings, DecodingsFor(options));
  return ServerInfo{.instance = instance_,
                    .cores = options_.threads,
                    .decoder_version = kDecoderVersion,
                    .spec_fingerprint = decodings->fingerprint(),
                    .memory_budget = options_.memory_budget};
}

}  // namespace penstock
