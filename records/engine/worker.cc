#include "records/engine/worker.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "records/engine/chunk_damage.h"
#include "records/engine/decoding.h"
#include "records/engine/job_rows.h"
#include "records/engine/undecodable.h"

namespace penstock {
namespace {

void TellFailedWindow(const WindowState& window) {
  LoadError error = Unshared(window.error);
  window.session->events.OnError({.request = std::nullopt,
                                  .window = window.definition.window,
                                  .status = std::move(error.status),
                                  .damage = std::move(error.damage),
                                  .needs_spare = error.needs_spare});
}

void TellFailedRequest(const RequestState& request) {
  LoadError error = Unshared(request.refusal.status.ok() ? request.window->error : request.refusal);
  request.window->session->events.OnError({.request = request.number,
                                           .window = std::nullopt,
                                           .status = std::move(error.status),
                                           .damage = std::move(error.damage),
                                           .needs_spare = error.needs_spare});
}

absl::StatusOr<WindowRows> BuildRows(const WindowState& window) {
  std::vector<WindowChunk> chunks;
  for (size_t i = 0; i < window.chunks.size(); ++i) {
    chunks.push_back({&window.chunks[i]->chunk, window.definition.chunks[i].ordinal});
  }
  const OpenWindow& definition = window.definition;
  auto rows = WindowRows::Build(
      std::span(chunks).first(definition.num_row_chunks()),
      definition.has_spare ? &chunks.back() : nullptr, window.session->layout->row_bytes(),
      {definition.split, definition.shuffle, definition.key}, window.session->knows_ids);
  if (rows.ok()) return rows;
  return Annotate(rows.status(), absl::StrCat("window ", window.definition.window));
}

// Returns the notes about rows of the block that the job requests, numbered by row of its part.
template <typename Note>
std::vector<Note> OfPart(const Job& job, std::span<const Note> block) {
  std::vector<Note> notes;
  if (block.empty()) return notes;
  uint32_t part_row = 0;
  ForEachRun(job.request->pattern, job.begin, job.rows, [&](uint64_t row, uint64_t n) {
    const uint64_t first = row - job.block.first_row;
    for (const Note& other : block) {
      if (other.row < first || other.row >= first + n) continue;
      notes.push_back(other);
      notes.back().row = part_row + static_cast<uint32_t>(other.row - first);
    }
    part_row += static_cast<uint32_t>(n);
  });
  return notes;
}

// Returns a span that lasts until the job is done.
SpanScope SpanOf(const Job& job, SpanSink* spans) {
  switch (job.kind) {
    case Job::Kind::kLoad:
      return SpanScope(spans, "read chunk", {"bytes", job.chunk->ref.size});
    case Job::Kind::kBuild:
      return SpanScope(spans, "build window");
    case Job::Kind::kDecode:
      return SpanScope(spans, "decode piece", {"rows", job.rows});
    case Job::Kind::kRefuseWindow:
    case Job::Kind::kRefuseRequest:
      break;
  }
  return SpanScope(spans, "refuse");
}

// Whether the bytes of the job do not tell what it costs.
bool IsMeasured(const Job& job) {
  return job.kind != Job::Kind::kDecode || job.request->decoding->program.images().decodes();
}

}  // namespace

void Worker::Do(Work& work) {
  const SpanScope span = SpanOf(work.jobs.front(), spans_);
  const JobTimes::Activity activity = JobTimes::ActivityOf(work.jobs.front().kind);
  sending_ = reading_ = {};
  if (IsMeasured(work.jobs.front())) thread_time_ = JobTimes::ThreadTime();
  const auto start = JobTimes::Clock::now();
  if (work.jobs.front().kind == Job::Kind::kDecode) {
    Decode(work);
  } else {
    Run(work.jobs.front());
    work.jobs.clear();
  }
  times_.Add(activity, JobTimes::Clock::now() - start - sending_ - reading_);
  times_.Add(JobTimes::kSend, sending_);
  times_.Add(JobTimes::kRead, reading_);
}

void Worker::Measure(std::span<Job> jobs) const {
  if (!IsMeasured(jobs.front())) return;
  const uint64_t took = JobTimes::ThreadTime() - thread_time_;
  for (Job& job : jobs) job.nanoseconds = std::max<uint64_t>(took, 1);
}

void Worker::Decode(Work& work) {
  const Job& job = work.jobs.front();
  if (job.block.rows > 0) return DecodeShared(work);
  if (job.session->decodes_rows) return DecodeRows(work);
  PartBuffer part(job.session->home.get(), pool_.Take(*job.session->home, job.bytes()),
                  job.bytes());
  PieceOutcome outcome = decoder_.Decode(PieceOf(job), part.bytes());
  Measure(work.jobs);
  if (outcome.failure) return Refuse(work, job, outcome);
  work.decoded.counters = outcome.counters;
  part.replaced = std::move(outcome.replaced);
  part.image_notes = std::move(outcome.image_notes);
  parts_.push_back(std::move(part));
  Send(work.jobs);
}

void Worker::Run(Job& job) {
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
      return;  // Handled by Decode().
  }
}

void Worker::Load(Job& job) {
  LoadError error;
  std::optional<Chunk> chunk =
      loader_.Load(job.chunk->shard, job.chunk->ref, job.chunk->layout, job.chunk->damage, error);
  if (waits_ == Waits::kApart) reading_ = loader_.TakeReadTime();
  Measure({&job, 1});
  scheduler_.FinishLoad(job, std::move(chunk), error);
}

void Worker::Build(Job& job) {
  WindowState& window = *job.window;
  std::shared_ptr<const SharedWindow> shared = scheduler_.FindRows(job);
  if (shared == nullptr) {
    absl::StatusOr<WindowRows> rows = BuildRows(window);
    Measure({&job, 1});
    if (!rows.ok()) return scheduler_.FailBuild(job, rows.status());
    shared = scheduler_.AddRows(job, *std::move(rows));
  }
  if (!window.announced) {
    job.session->events.OnWindowReady(window.definition.window, window.read_bytes);
  }
  scheduler_.FinishBuild(job, std::move(shared));
}

void Worker::Refuse(Work& work, const Job& job, const PieceOutcome& failed) {
  const uint64_t row = job.request->pattern.window_row(job.begin + failed.failure->row);
  scheduler_.RefuseDecoded(work.jobs, Undecodable(*job.window, row, failed));
  work.jobs.clear();
}

void Worker::DecodeRows(Work& work) {
  const Job job = work.jobs.front();
  JobRows rows(job, decoder_);
  job.session->events.OnRows(rows);
  Measure(work.jobs);
  if (rows.failed()) return Refuse(work, job, *rows.failed());
  work.decoded = rows.decoded();
}

void Worker::DecodeShared(Work& work) {
  const Job leader = work.jobs.front();
  const Decoding& decoding = *leader.request->decoding;
  const StripCache::Key key{leader.window->shared->id, &decoding,
                            leader.block.first_row / decoding.block_rows};
  std::span<uint8_t> memory;
  BlockResult block;
  switch (strips_.Claim(key, work.jobs, memory, block)) {
    case StripCache::Answer::kWaiting:
      return work.jobs.clear();
    case StripCache::Answer::kDecode:
      block = DecodeBlock(leader, memory, work.decoded);
      strips_.Publish(key, work.jobs, block);
      Measure(work.jobs);
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
  for (const Job& job : work.jobs) parts_.push_back(PiecesOf(job, memory, block));
  uint64_t rows = 0;
  for (const Job& job : work.jobs) rows += job.rows;
  if (block.error.status.ok()) {
    Send(work.jobs);
  } else {
    parts_.clear();
    scheduler_.RefuseDecoded(work.jobs, block.error);
    work.jobs.clear();
  }
  strips_.Release(key, rows);
}

BlockResult Worker::DecodeBlock(const Job& job, std::span<uint8_t> memory, Decoded& decoded) {
  const RowPattern all{job.block.first_row, job.block.rows, job.block.rows, 1};
  Piece block = PieceOf(job);
  block.pattern = all;
  block.begin = 0;
  block.rows = job.block.rows;
  PieceOutcome outcome = decoder_.Decode(block, memory.first(job.decoded_bytes()));
  decoded = {outcome.counters, job.block.rows};
  BlockResult result;
  result.replaced = std::move(outcome.replaced);
  result.image_notes = std::move(outcome.image_notes);
  if (outcome.failure) {
    result.error = Undecodable(*job.window, all.window_row(outcome.failure->row), outcome);
  }
  return result;
}

PartBuffer Worker::PiecesOf(const Job& job, std::span<uint8_t> memory, const BlockResult& block) {
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
  PartBuffer part(job.session->home.get(), memory, std::move(pieces));
  part.replaced = OfPart<ReplacedRow>(job, block.replaced);
  part.image_notes = OfPart<ImageNote>(job, block.image_notes);
  return part;
}

void Worker::Send(std::span<const Job> jobs) {
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

}  // namespace penstock
