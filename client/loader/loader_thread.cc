#include "client/loader/loader_thread.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/loader/window_message.h"
#include "client/plan/chunk_table.h"
#include "records/base/status.h"

namespace penstock {
namespace {

constexpr uint64_t kMaxSlots = 4096;

absl::StatusOr<Steps> MakeSteps(const LoaderOptions& options, const Plan& plan) {
  EpochPosition start;
  if (options.start) {
    if (options.start->order_fingerprint != plan.fingerprint()) {
      return absl::FailedPreconditionError(absl::StrFormat(
          "cursor %s belongs to another order, not to %016x: it needs the same data, split, seed, "
          "lanes, window chunks and strip rows",
          options.start->ToString(), plan.fingerprint()));
    }
    start = {options.start->epoch, options.start->position};
  }
  return Steps::Create(plan.rows(),
                       {options.global_batch_size, options.remainder, options.epochs, options.rank,
                        options.world_size},
                       start);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Loader>> OpenLoader(
    LoaderOptions options, std::vector<std::unique_ptr<Transport>> transports) {
  return LoaderThread::Start(std::move(options), std::move(transports));
}

absl::StatusOr<std::unique_ptr<Loader>> LoaderThread::Start(
    LoaderOptions options, std::vector<std::unique_ptr<Transport>> transports) {
  PENSTOCK_RETURN_IF_ERROR(options.Validate());
  PENSTOCK_ASSIGN_OR_RETURN(const Program program, Program::Compile(options.spec, options.dtype));
  PENSTOCK_ASSIGN_OR_RETURN(
      Plan plan, Plan::Create(MakeChunkTable(*options.manifest, options.plan.split), options.plan));
  PENSTOCK_ASSIGN_OR_RETURN(Steps steps, MakeSteps(options, plan));
  std::unique_ptr<LoaderThread> loader(new LoaderThread(
      std::move(options), std::move(transports), std::move(plan), std::move(steps), program));
  PENSTOCK_ASSIGN_OR_RETURN(loader->slots_, Slots::Create(loader->NumSlots(), loader->layout_,
                                                          loader->options_.record_ids, *loader,
                                                          loader->options_.slot_allocator));
  loader->ready_.resize(loader->slots_->size());
  SchedulerActions& actions = *loader;
  loader->scheduler_ = std::make_unique<FetchScheduler>(loader->plan_, loader->steps_,
                                                        loader->MakeSchedulerOptions(), actions);
  loader->thread_ = std::jthread([thread = loader.get()] { thread->Run(); });
  return loader;
}

LoaderThread::LoaderThread(LoaderOptions options,
                           std::vector<std::unique_ptr<Transport>> transports, Plan plan,
                           Steps steps, const Program& program)
    : options_(std::move(options)),
      transports_(std::move(transports)),
      plan_(std::move(plan)),
      steps_(std::move(steps)),
      layout_(program, options_.record_ids, steps_.max_rank_rows()),
      stream_options_(MakeStreamOptions()),
      counters_(transports_.size()) {}

LoaderThread::~LoaderThread() {
  Close();
  inbox_.Close();
  if (thread_.joinable()) thread_.join();
}

uint32_t LoaderThread::NumSlots() const {
  const uint64_t slot_bytes = std::max<uint64_t>(layout_.slot_bytes(), 1);
  return static_cast<uint32_t>(
      std::clamp<uint64_t>(options_.look_ahead_bytes / slot_bytes, 2, kMaxSlots));
}

SchedulerOptions LoaderThread::MakeSchedulerOptions() const {
  SchedulerOptions scheduler;
  for (const auto& transport : transports_) scheduler.servers.push_back(transport->address());
  scheduler.num_slots = static_cast<uint32_t>(slots_->size());
  scheduler.row_bytes = layout_.row_bytes();
  scheduler.max_steps = options_.max_steps;
  scheduler.server_timeout = options_.server_timeout;
  scheduler.seed = DeriveKey(plan_.fingerprint(), options_.rank);
  return scheduler;
}

StreamOptions LoaderThread::MakeStreamOptions() const {
  StreamOptions stream;
  stream.spec = options_.spec;
  stream.record_ids = options_.record_ids;
  stream.holdout_feature = options_.manifest->holdout().feature;
  stream.holdout_threshold = options_.manifest->holdout().threshold;
  stream.client =
      absl::StrCat("rank ", options_.rank, " of ", options_.world_size, ", pid ", getpid());
  return stream;
}

absl::StatusOr<bool> LoaderThread::Next(Batch& batch) {
  batch = Batch();
  MutexLock lock(&mutex_);
  const absl::Time start = SteadyNow();
  while (ready_size_ == 0 && !finished_ && !closed_ && failure_.ok()) {
    ready_changed_.Wait(&mutex_);
  }
  wait_ += SteadyNow() - start;
  if (closed_) return absl::CancelledError("the loader was closed");
  // What was ready before a failure is still handed out: it is in order.
  if (ready_size_ == 0) return failure_.ok() ? absl::StatusOr<bool>(false) : failure_;
  batch.slot_ = slots_->slot(ready_[ready_head_]);
  ready_head_ = (ready_head_ + 1) % ready_.size();
  --ready_size_;
  ++batches_;
  rows_ += batch.rows();
  return true;
}

void LoaderThread::Close() {
  MutexLock lock(&mutex_);
  closed_ = true;
  ready_changed_.NotifyAll();
}

LoaderStats LoaderThread::stats() const {
  LoaderStats stats;
  for (size_t i = 0; i < transports_.size(); ++i) {
    const ServerCounters& counters = counters_[i];
    stats.servers.push_back({transports_[i]->address(), counters.connected, counters.parts,
                             counters.rows, counters.bytes, counters.windows, counters.in_flight,
                             counters.lost, counters.breaks});
  }
  MutexLock lock(&mutex_);
  stats.batches = batches_;
  stats.rows = rows_;
  stats.bytes = rows_ * layout_.row_bytes();
  stats.wait = wait_;
  stats.slots = ready_.size();
  return stats;
}

void LoaderThread::Run() {
  std::vector<InboxEvent> events;
  absl::Time wake = scheduler_->Advance(SteadyNow());
  while (inbox_.Take(wake, events)) {
    const absl::Time now = SteadyNow();
    for (InboxEvent& event : events) Handle(now, event);
    events.clear();  // Gives their payloads back before the next wait.
    wake = scheduler_->Advance(now);
    PublishServers();
  }
  streams_.clear();
}

void LoaderThread::Handle(absl::Time now, InboxEvent& event) {
  switch (event.kind) {
    case InboxEvent::Kind::kHello:
      return scheduler_->OnHello(now, event.stream, event.info);
    case InboxEvent::Kind::kWindowReady:
      return scheduler_->OnWindowReady(now, event.stream, event.number);
    case InboxEvent::Kind::kPart:
      return TakePart(now, event.stream, std::move(event.part));
    case InboxEvent::Kind::kError:
      return scheduler_->OnError(now, event.stream, event.error);
    case InboxEvent::Kind::kCredit:
      return scheduler_->OnCredit(now, event.stream, event.number);
    case InboxEvent::Kind::kDraining:
      return scheduler_->OnDraining(now, event.stream);
    case InboxEvent::Kind::kBroken:
      ++counters_[event.stream.server].breaks;
      return scheduler_->OnBroken(now, event.stream, event.error.status);
    case InboxEvent::Kind::kSlotReleased:
      return scheduler_->OnSlotReleased(static_cast<uint32_t>(event.number));
  }
}

void LoaderThread::TakePart(absl::Time now, StreamId stream, ReceivedPart part) {
  const size_t size = part.payload->size();
  if (size != part.rows * layout_.row_bytes()) {
    return scheduler_->OnBroken(
        now, stream,
        absl::InternalError(absl::StrCat("a part of ", part.rows, " rows has ", size,
                                         " bytes, not ", part.rows * layout_.row_bytes())));
  }
  const auto copies = scheduler_->OnPart(now, stream, part.request, part.first_row, part.rows);
  if (copies.empty()) return;
  for (const RowCopy& copy : copies) {
    layout_.Copy(*part.payload, part.rows, copy, slots_->memory(copy.slot));
  }
  ServerCounters& counters = counters_[stream.server];
  ++counters.parts;
  counters.rows += part.rows;
  counters.bytes += size;
  scheduler_->OnPartCopied();
}

void LoaderThread::PublishServers() {
  for (uint32_t i = 0; i < counters_.size(); ++i) {
    const ServerEntry& server = scheduler_->servers()[i];
    counters_[i].connected = server.state == ServerState::kUp;
    counters_[i].in_flight = server.outstanding_requests;
    counters_[i].lost = scheduler_->lost_requests(i);
  }
}

LoaderThread::OpenStreamEntry* LoaderThread::Find(StreamId stream) {
  for (OpenStreamEntry& entry : streams_) {
    if (entry.id == stream) return &entry;
  }
  return nullptr;
}

void LoaderThread::OpenStream(StreamId stream) {
  OpenStreamEntry entry{stream, std::make_unique<StreamPoster>(inbox_, stream), nullptr};
  entry.stream = transports_[stream.server]->Connect(stream_options_, *entry.events);
  streams_.push_back(std::move(entry));
}

void LoaderThread::CloseStream(StreamId stream) {
  std::erase_if(streams_, [stream](const OpenStreamEntry& entry) { return entry.id == stream; });
}

void LoaderThread::OpenWindow(StreamId stream, const WindowRequest& window) {
  OpenStreamEntry* entry = Find(stream);
  if (entry == nullptr) return;
  ++counters_[stream.server].windows;
  entry->stream->OpenWindow(MakeOpenWindow(*options_.manifest, plan_, window));
}

void LoaderThread::ReleaseWindow(StreamId stream, uint64_t window) {
  if (OpenStreamEntry* entry = Find(stream)) entry->stream->Release(window);
}

void LoaderThread::Fetch(StreamId stream, const FetchRequest& fetch) {
  if (OpenStreamEntry* entry = Find(stream)) {
    entry->stream->Fetch({fetch.request, fetch.window, fetch.first_row, fetch.rows, fetch.stride,
                          fetch.count, options_.dtype, fetch.needed_at});
  }
}

void LoaderThread::Deliver(const ReadyStep& step) {
  const EpochPosition& end = step.step.end;
  slots_->Describe(step, {plan_.fingerprint(), end.epoch, end.position});
  MutexLock lock(&mutex_);
  ready_[(ready_head_ + ready_size_++) % ready_.size()] = step.slot;
  ready_changed_.NotifyOne();
}

void LoaderThread::Finish() {
  MutexLock lock(&mutex_);
  finished_ = true;
  ready_changed_.NotifyAll();
}

void LoaderThread::Fail(absl::Status status) {
  MutexLock lock(&mutex_);
  failure_ = std::move(status);
  ready_changed_.NotifyAll();
}

void LoaderThread::ReturnSlot(uint32_t slot) {
  InboxEvent event;
  event.kind = InboxEvent::Kind::kSlotReleased;
  event.number = slot;
  inbox_.Post(std::move(event));
}

}  // namespace penstock
