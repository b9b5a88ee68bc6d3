#include "cli/feed/feed_session.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/byte_size.h"
#include "base/process/start_thread.h"
#include "base/status.h"
#include "client/loader/incoming.h"
#include "client/metrics/loader_metrics.h"
#include "metrics/metrics_endpoint.h"

namespace penstock::feed {
namespace {

// An answer has about 1 KiB, or 20 KiB with metrics, so a consumer that reads never comes near.
constexpr size_t kMaxUnreadBytes = size_t{4} << 20;

}  // namespace

FeedSession::FeedSession(LoaderOptions options, size_t slot_bytes, FeedWriter& writer)
    : options_(std::move(options)), slot_bytes_(slot_bytes), writer_(writer) {}

FeedSession::~FeedSession() { Stop(); }

void FeedSession::Stop() {
  stopping_ = true;
  if (loader_ != nullptr) loader_->Close();
  if (thread_.joinable()) thread_.join();
  {
    MutexLock lock(&mutex_);
    held_.clear();
  }
  SetLoader(nullptr);
  stopping_ = false;
}

void FeedSession::SetLoader(std::unique_ptr<Loader> loader) {
  {
    MutexLock lock(&stats_mutex_);
    loader_.swap(loader);
    waited_ = LoaderStats();
    waiting_since_.reset();
    next_step_ = first_step_;
  }
  loader.reset();  // Without the lock, because it waits for threads.
}

void FeedSession::EndWait(uint64_t step) {
  MutexLock lock(&stats_mutex_);
  const absl::Duration wait =
      waiting_since_.has_value() ? SteadyNow() - *waiting_since_ : absl::ZeroDuration();
  waiting_since_.reset();
  next_step_ = step + 1;
  waited_.wait += wait;
  waited_.waits.Add(wait);
}

LoaderStats FeedSession::stats() const {
  MutexLock lock(&stats_mutex_);
  LoaderStats stats = loader_ == nullptr ? LoaderStats() : loader_->stats();
  stats.wait = waited_.wait;
  stats.waits = waited_.waits;
  if (waiting_since_.has_value()) stats.wait += SteadyNow() - *waiting_since_;
  return stats;
}

void FeedSession::Start(uint32_t generation, const StartText& start, UniqueFd memory) {
  Stop();
  generation_ = generation;
  first_step_ = start.step;
  if (options_.max_steps > 0 && first_step_ >= options_.max_steps) {
    return writer_.AddText(ToConsumer::kEnd, generation_, "");
  }
  const absl::Status opened = Open(start, std::move(memory));
  if (!opened.ok()) writer_.AddText(ToConsumer::kError, generation_, ErrorText(opened));
}

absl::Status FeedSession::Open(const StartText& start, UniqueFd memory) {
  const uint64_t bytes = uint64_t{start.slots} * slot_bytes_;
  if (memory.valid()) {
    memory_.reset();
    PENSTOCK_ASSIGN_OR_RETURN(memory_, FeedMemory::Map(std::move(memory), bytes));
  }
  if (memory_ == nullptr || memory_->size() < bytes) {
    return absl::InvalidArgumentError(absl::StrCat("START: there is no memory for ", start.slots,
                                                   " slots; send a memfd of at least ", bytes,
                                                   " bytes"));
  }
  LoaderOptions options = options_;
  options.start = start.cursor;
  if (options.max_steps > 0) options.max_steps -= first_step_;
  options.look_ahead_bytes = bytes;
  options.slot_allocator = memory_.get();
  {
    MutexLock lock(&mutex_);
    held_.resize(start.slots);
  }
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<Loader> loader, Loader::Open(std::move(options)));
  SetLoader(std::move(loader));
  PENSTOCK_ASSIGN_OR_RETURN(thread_, StartThread("that takes batches", [this] { Run(); }));
  return absl::OkStatus();
}

void FeedSession::Run() {
  while (true) {
    Batch batch;
    const absl::StatusOr<bool> more = loader_->Take(batch);
    if (stopping_) return;
    if (!more.ok()) {
      return writer_.AddText(ToConsumer::kError, generation_, ErrorText(more.status()));
    }
    if (!*more) return writer_.AddText(ToConsumer::kEnd, generation_, "");
    Announce(std::move(batch));
  }
}

void FeedSession::Announce(Batch batch) {
  const auto offset = batch.tensors().front().bytes.data() - memory_->data();
  const BatchMessage message = {.generation = generation_,
                                .slot = static_cast<uint32_t>(offset / slot_bytes_),
                                .flags = batch.last_of_epoch() ? kLastOfEpoch : 0,
                                .step = first_step_ + batch.step(),
                                .epoch = batch.epoch(),
                                .position = batch.position(),
                                .first_row = batch.first_row(),
                                .rows = static_cast<uint32_t>(batch.rows()),
                                .global_rows = static_cast<uint32_t>(batch.global_rows()),
                                .end_epoch = batch.cursor().epoch,
                                .end_position = batch.cursor().position};
  {
    MutexLock lock(&mutex_);
    held_[message.slot] = std::move(batch);
  }
  EndWait(message.step);
  writer_.AddBatch(message);
}

absl::Status FeedSession::Release(uint32_t generation, uint64_t slot) {
  if (generation != generation_) return absl::OkStatus();
  Batch released;
  MutexLock lock(&mutex_);
  if (slot >= held_.size()) {
    return absl::InvalidArgumentError(absl::StrCat("RELEASE: there is no slot ", slot));
  }
  released = std::exchange(held_[slot], Batch());
  return absl::OkStatus();
}

void FeedSession::NoteWaiting(uint32_t generation, uint64_t step) {
  if (generation != generation_ || loader_ == nullptr || step < first_step_) return;
  loader_->NoteWaiting(step - first_step_);
  MutexLock lock(&stats_mutex_);
  // A batch that was announced already is on its way.
  if (step >= next_step_ && !waiting_since_.has_value()) waiting_since_ = SteadyNow();
}

void FeedSession::Collect(MetricFamilies& families) const {
  const std::optional<TlsOptions>& tls = options_.network.tls;
  AddLoaderMetrics(stats(), tls.has_value() ? tls->cert_file : "", families);
}

absl::Status FeedSession::AnswerStats(uint32_t generation, bool with_metrics) {
  if (const size_t waiting = writer_.waiting_bytes(); waiting > kMaxUnreadBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("STATS: ", FormatByteSize(waiting), " of answers are unread; the limit is ",
                     FormatByteSize(kMaxUnreadBytes), "; read answers before asking again"));
  }
  const std::string page =
      with_metrics ? MetricsPage([this](MetricFamilies& families) { Collect(families); }) : "";
  writer_.AddText(ToConsumer::kStats, generation, StatsText(stats(), page));
  return absl::OkStatus();
}

}  // namespace penstock::feed
