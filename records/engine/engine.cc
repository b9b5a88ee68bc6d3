#include "records/engine/engine.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "records/base/crc32c.h"
#include "records/base/status.h"
#include "records/engine/chunk_loader.h"
#include "records/engine/decoding.h"
#include "records/engine/machine_limits.h"
#include "records/engine/piece.h"
#include "records/engine/record_packer.h"

namespace penstock {
namespace {

// Free part memory that is kept: the parts of a few busy sessions.
constexpr size_t kKeptPartBytes = size_t{32} << 20;

EngineOptions Completed(EngineOptions options) {
  const MachineLimits machine = ReadMachineLimits();
  if (options.threads == 0) options.threads = machine.cores;
  if (options.memory_budget == 0) options.memory_budget = machine.memory_bytes / 4;
  return options;
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
  Worker(Scheduler& scheduler, FileCache& files, PartPool& pool, JobTimes& times)
      : scheduler_(scheduler), pool_(pool), times_(times), loader_(files) {}

  void Do(const Job& job) {
    const JobTimes::Activity activity = JobTimes::ActivityOf(job.kind);
    sending_ = {};
    const auto start = JobTimes::Clock::now();
    Run(job);
    times_.Add(activity, JobTimes::Clock::now() - start - sending_);
    times_.Add(JobTimes::kSend, sending_);
  }

 private:
  void Run(const Job& job) {
    switch (job.kind) {
      case Job::Kind::kLoad:
        return Load(job);
      case Job::Kind::kBuild:
        return Build(job);
      case Job::Kind::kDecode:
        return Decode(job);
      case Job::Kind::kRefuseWindow:
        TellFailedWindow(*job.window);
        return scheduler_.Finish(job);
      case Job::Kind::kRefuseRequest:
        TellFailedRequest(*job.request);
        return scheduler_.Finish(job);
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
    absl::StatusOr<WindowRows> rows = BuildRows(window);
    if (rows.ok() && !window.announced) {
      job.session->events.OnWindowReady(window.definition.window, window.read_bytes);
    }
    scheduler_.FinishBuild(job, std::move(rows));
  }

  void Decode(const Job& job) {
    const RequestState& request = *job.request;
    SessionState& session = *job.session;
    PartBuffer part(session.home.get(), pool_.Take(*session.home, job.bytes()), job.bytes());
    part.request = request.number;
    part.first_row = static_cast<uint32_t>(job.begin);
    part.rows = job.rows;
    const DecodeCounters counters =
        decoder_.Decode(request.decoding->program, *session.layout, job.window->rows,
                        request.pattern, job.begin, job.rows, part.bytes());
    if (session.checksums) part.crc32c = Crc32c(part.bytes());  // While they are in cache.
    const auto decoded = JobTimes::Clock::now();
    session.events.OnPart(std::move(part));
    sending_ = JobTimes::Clock::now() - decoded;
    scheduler_.Finish(job, counters);
  }

  Scheduler& scheduler_;
  PartPool& pool_;
  JobTimes& times_;
  JobTimes::Clock::duration sending_{};  // Of the job under way.
  ChunkLoader loader_;
  PieceDecoder decoder_;
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
  if (threads > 1024) {
    return absl::InvalidArgumentError(absl::StrCat(threads, " threads; at most 1024"));
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
      scheduler_(options_.memory_budget, options_.limits),
      pool_(std::make_shared<PartPool>(kKeptPartBytes,
                                       [this](SessionState* session, size_t capacity) {
                                         scheduler_.PartReturned(session, capacity);
                                       })) {
  for (uint32_t i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { Work(); });
}

Engine::~Engine() {
  scheduler_.Stop();
  threads_.clear();
  pool_->Close();
}

void Engine::Work() {
  Worker worker(scheduler_, files_, *pool_, times_);
  for (Job job; scheduler_.Next(job);) worker.Do(job);
}

EngineStats Engine::stats() const {
  EngineStats stats = scheduler_.stats();
  stats.instance = instance_;
  stats.threads = options_.threads;
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

absl::StatusOr<std::unique_ptr<Session>> Engine::OpenSession(const StreamOptions& options,
                                                             SessionEvents& events) {
  PENSTOCK_ASSIGN_OR_RETURN(Decodings decodings, Decodings::Compile(options));
  ChunkLayout layout(decodings.features(), options.holdout_feature, options.holdout_threshold);
  PENSTOCK_RETURN_IF_ERROR(RecordPacker::Create(layout).status());
  auto state = std::make_unique<SessionState>(events, std::move(decodings));
  state->layout = Intern(std::move(layout));
  state->record_ids = options.record_ids;
  state->checksums = options.checksums;
  state->home = pool_->MakeHome(state.get());
  PENSTOCK_ASSIGN_OR_RETURN(SessionState * added, scheduler_.AddSession(std::move(state)));
  return std::make_unique<EngineSession>(scheduler_, *pool_, *added);
}

absl::StatusOr<ServerInfo> Engine::Describe(const StreamOptions& options) const {
  PENSTOCK_ASSIGN_OR_RETURN(Decodings decodings, Decodings::Compile(options));
  return ServerInfo{.instance = instance_,
                    .cores = options_.threads,
                    .decoder_version = kDecoderVersion,
                    .spec_fingerprint = decodings.fingerprint(),
                    .memory_budget = options_.memory_budget};
}

}  // namespace penstock
