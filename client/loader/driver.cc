#include "client/loader/driver.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/print_escaped.h"
#include "base/process/start_thread.h"
#include "base/status.h"

namespace penstock {
namespace {

// Bounds what one server may send between two looks at the queue. A server may be asked for every
// row of every slot, may be asked again after a Cancel that came too late, and may answer row by
// row. Servers allow 1,024 windows and 4,096 requests on a stream.
IncomingLimits LimitsOf(const SlotLayout& layout, size_t num_slots) {
  const uint64_t bytes = uint64_t{4} * num_slots * layout.slot_bytes();
  return {.messages = (1 << 15) + bytes / std::max<size_t>(layout.row_bytes(), 1),
          .bytes = bytes + (uint64_t{16} << 20)};
}

absl::Status WrongSize(uint64_t bytes, uint64_t rows, const SlotLayout& layout) {
  return absl::FailedPreconditionError(
      absl::StrCat("sent ", bytes, " bytes for ", rows, " rows, but a row has ", layout.row_bytes(),
                   " bytes: the server decodes differently from this client; run the same release "
                   "on both sides"));
}

// Returns the message without the address, which is shown beside it.
std::string ProblemOf(absl::string_view address, const absl::Status& status) {
  absl::string_view problem = status.message();
  if (absl::ConsumePrefix(&problem, address)) absl::ConsumePrefix(&problem, ": ");
  return std::string(problem);
}

// At most kNamedAtATime records that cannot be decoded are named in each kNamedAgainAfter.
constexpr uint32_t kNamedAtATime = 8;
constexpr absl::Duration kNamedAgainAfter = absl::Seconds(10);

bool IsTaken(uint32_t part_row, std::span<const RowCopy> taken) {
  return std::any_of(taken.begin(), taken.end(), [part_row](const RowCopy& copy) {
    return part_row >= copy.part_row && part_row - copy.part_row < copy.rows;
  });
}

ImageCounts CountTaken(std::span<const ImageNote> notes, std::span<const RowCopy> taken) {
  ImageCounts counts;
  for (const ImageNote& note : notes) {
    if (IsTaken(note.row, taken)) counts.Add(note);
  }
  return counts;
}

// Fills in what the controller knows of a server. LoaderCounters has counted the rest of `stats`.
void Describe(const ServerEntry& server, bool fetched_all, LoaderStats::Server& stats) {
  stats.address = server.address;
  stats.connected = server.state == ServerState::kUp || server.state == ServerState::kDraining;
  stats.named = !server.removed && !fetched_all;
  stats.problem = stats.connected ? "" : ProblemOf(server.address, server.last_error);
  stats.requests_in_flight = server.has_stream() ? server.outstanding_requests : 0;
  stats.lost_requests = server.counted.lost_requests;
  stats.stream_breaks = server.counted.breaks;
  stats.backoffs = server.counted.backoffs;
  stats.late_requests = server.counted.late_requests;
  stats.windows_handed_over = server.counted.handed_over;
  stats.extra_loads = server.counted.extra_loads;
}

// A hundred years, which every clock can represent.
constexpr absl::Duration kNoTimeout = absl::Hours(24 * 365 * 100);

absl::Status NotInTime(absl::Duration timeout) {
  return absl::DeadlineExceededError(
      absl::StrCat("no batch was ready within ", absl::FormatDuration(timeout)));
}

// Passes the messages on, and returns what `report` threw, if it did.
absl::Status CallReport(const std::function<void(absl::string_view)>& report,
                        const std::vector<std::string>& messages) {
  try {
    for (const std::string& message : messages) report(message);
  } catch (const std::exception& thrown) {
    return absl::UnknownError(absl::StrCat("LoaderOptions::report threw: ", thrown.what()));
  } catch (...) {
    return absl::UnknownError("LoaderOptions::report threw what is no std::exception");
  }
  return absl::OkStatus();
}

}  // namespace

Driver::Driver(const DriverJob& job, const Steps& steps, FetchOptions options)
    : job_(job),
      ready_(options.num_slots),
      incoming_limits_(LimitsOf(job.layout, options.num_slots)),
      commands_([this](std::span<const uint32_t> chunks) { return NameChunks(chunks); }),
      controller_(job.plan, steps, options, commands_),
      connections_(job.transports.size()),
      counters_(options.num_slots, job.layout) {}

Driver::~Driver() {
  if (const uint32_t held = held_; held > 0) {
    PrintEscaped(stderr,
                 "penstock: %d batches of a loader outlive it; destroy every Batch before its "
                 "Loader\n",
                 held);
    std::abort();
  }
  Close();
  incoming_.Close();
}

absl::Status Driver::Start(SlotSet& slots, std::unique_ptr<ServerSource> source) {
  slots_ = &slots;
  source_ = std::move(source);
  if (source_ != nullptr) {
    PENSTOCK_RETURN_IF_ERROR(source_->Start([this](const ServerSet& servers) {
      incoming_.Push({{}, servers});
    }));
  }
  PENSTOCK_ASSIGN_OR_RETURN(thread_, StartThread("that runs the loader", [this] { Run(); }));
  return absl::OkStatus();
}

absl::StatusOr<std::optional<uint32_t>> Driver::Next() { return Next(kNoTimeout); }

absl::StatusOr<std::optional<uint32_t>> Driver::Next(absl::Duration timeout) {
  const absl::Time start = SteadyNow();
  if (ready_.empty()) {
    NoteWaiting(popped_);
    counters_.BeginWait(start);
  }
  const bool in_time = ready_.WaitUntil(std::chrono::steady_clock::now() +
                                        absl::ToChronoNanoseconds(std::min(timeout, kNoTimeout)));
  auto slot = in_time ? Take() : absl::StatusOr<std::optional<uint32_t>>(NotInTime(timeout));
  counters_.EndWait(start);
  return slot;
}

absl::StatusOr<std::optional<uint32_t>> Driver::Take() {
  std::optional<uint32_t> slot = ready_.Pop();
  popped_ += slot.has_value();
  if (!slot.has_value() && !ready_.status().ok()) return ready_.status();
  if (closed_) return absl::CancelledError("the loader was closed");
  if (!slot.has_value()) return slot;
  counters_.CountBatch((*slots_)[*slot].rows());
  ++held_;
  return slot;
}

void Driver::NoteWaiting(uint64_t step) { incoming_.Push({{}, IncomingConsumerWaiting{step}}); }

void Driver::Close() {
  closed_ = true;
  ready_.Close();
}

void Driver::Release(uint32_t slot) {
  if (getpid() != process_) return;
  --held_;
  if (job_.check_views) {
    slots_->Spoil(slot);
    slot = spoiled_.exchange(slot);
    if (slot == kNoSlot) return;
    slots_->Restore(slot);
  }
  incoming_.Push({{}, IncomingSlotReleased{slot}});
}

LoaderStats Driver::stats() const {
  MutexLock lock(&work_mutex_);
  LoaderStats stats = counters_.stats();
  stats.scheduling = scheduling_;
  stats.servers_problem = std::string(servers_problem_.message());
  stats.servers.resize(controller_.servers().size());
  for (size_t i = 0; i < stats.servers.size(); ++i) {
    Describe(controller_.servers()[i], fetched_all_, stats.servers[i]);
  }
  return stats;
}

void Driver::Run() {
  const ThreadNameScope name(job_.spans, "loader");
  std::vector<Incoming> incoming;
  for (absl::Time wake = HandleAll(incoming); incoming_.TakeAll(wake, incoming);) {
    wake = HandleAll(incoming);
  }
  // The connections end here without the lock, before any member is destroyed.
  std::vector<std::unique_ptr<Connection>> connections;
  std::vector<std::unique_ptr<Connection>> closing;
  std::vector<std::string> reports;  // Reports about the last parts.
  {
    MutexLock lock(&work_mutex_);
    connections.swap(connections_);
    closing.swap(closing_);
    reports.swap(reports_);
  }
  Tell(reports);
}

absl::Time Driver::HandleAll(std::vector<Incoming>& incoming) {
  const SpanScope span(job_.spans, "schedule", {"events", incoming.size()});
  // These are destroyed without the lock. Streams end before the transports that made them.
  std::vector<std::unique_ptr<Transport>> unused;
  std::vector<std::unique_ptr<Connection>> closing;
  std::vector<std::string> reports;
  const absl::Time wake = Work(incoming, unused, closing, reports);
  Tell(reports);
  return wake;
}

absl::Time Driver::Work(std::vector<Incoming>& incoming,
                        std::vector<std::unique_ptr<Transport>>& unused,
                        std::vector<std::unique_ptr<Connection>>& closing,
                        std::vector<std::string>& reports) {
  MutexLock lock(&work_mutex_);
  const absl::Time now = SteadyNow();
  for (Incoming& item : incoming) Handle(now, item);
  wake_ = controller_.Advance(now);
  CarryOut();
  scheduling_ += SteadyNow() - now;
  if (num_replaced_ < controller_.replaced().size()) PublishReplaced();
  unused = TakeUnusedTransports();
  closing.swap(closing_);
  reports.swap(reports_);
  return wake_;
}

void Driver::Handle(absl::Time now, Incoming& incoming) {
  if (auto* event = std::get_if<StreamEvent>(&incoming.what)) {
    Hear(now, incoming.stream, *event);
  } else if (const auto* released = std::get_if<IncomingSlotReleased>(&incoming.what)) {
    // After Close() no slot is filled again, because a former consumer may still look at its
    // memory.
    if (!closed_) controller_.OnSlotReleased(released->slot);
  } else if (const auto* waiting = std::get_if<IncomingConsumerWaiting>(&incoming.what)) {
    controller_.OnConsumerWaiting(now, waiting->step);
  } else if (const auto* servers = std::get_if<ServerSet>(&incoming.what)) {
    HandleServers(now, *servers);
  }  // IncomingDue needs nothing else, and parts come through TakePart().
}

void Driver::Hear(absl::Time now, StreamId id, StreamEvent& event) {
  if (const auto* hello = std::get_if<ServerInfo>(&event)) {
    controller_.OnHello(now, id, *hello);
  } else if (const auto* ready = std::get_if<WindowReady>(&event)) {
    controller_.OnWindowReady(now, id, ready->window);
  } else if (const auto* error = std::get_if<StreamError>(&event)) {
    controller_.OnError(now, id, *error);
  } else if (const auto* credit = std::get_if<Credit>(&event)) {
    controller_.OnCredit(now, id, credit->bytes, credit->working);
  } else if (const auto* draining = std::get_if<Draining>(&event)) {
    controller_.OnDraining(now, id, absl::Milliseconds(draining->grace_ms));
  } else if (const auto* shared = std::get_if<SharedMemoryResult>(&event)) {
    counters_.NoteSharedMemory(id.server, shared->status);
  } else if (const auto* given_up = std::get_if<ConnectionGivenUp>(&event)) {
    NoteConnectionGivenUp(id.server, given_up->why);
  } else if (auto* broken = std::get_if<StreamBroken>(&event)) {
    controller_.OnBroken(now, id, std::move(broken->status));
    if (source_ != nullptr) source_->Refresh();
  }
}

void Driver::NoteConnectionGivenUp(uint32_t server, const absl::Status& why) {
  const std::string& address = controller_.servers()[server].address;
  std::string problem = ProblemOf(address, why);
  Report(absl::StrCat(address, ": no further connection could be opened (", problem,
                      "); continuing with those that are open"));
  counters_.NoteNoFurtherConnection(server, std::move(problem));
}

void Driver::HandleServers(absl::Time now, const ServerSet& servers) {
  servers_problem_ = servers.problem;
  // After a problem, the set may lack servers.
  const bool all_known = servers.complete && servers.problem.ok();
  controller_.OnServersChanged(now, servers.addresses, all_known);
}

void Driver::Break(StreamId id, absl::Status why) {
  incoming_.Push({id, StreamBroken{std::move(why)}});
}

void Driver::TakePart(StreamId id, ReceivedPart part) {
  const SpanScope span(job_.spans, "copy part", {"rows", part.rows});
  if (absl::Status fits = CheckPart(id, part); !fits.ok()) return Break(id, std::move(fits));
  std::vector<RowCopy> copies = Claim(id, part.request, part.first_row, part.rows);
  if (copies.empty()) return;
  const absl::Time start = SteadyNow();
  slots_->Copy(part, copies);
  NoteReplaced(part.replaced, copies);
  counters_.CountPart(id.server, part.rows, SteadyNow() - start,
                      CountTaken(part.image_notes, copies));
  part.payload.reset();  // Frees the payload, because the next part may need its memory.
  FinishPart(std::move(copies));
}

absl::Status Driver::CheckPart(StreamId id, const ReceivedPart& part) {
  if (part.payload->size() != uint64_t{part.rows} * job_.layout.row_bytes()) {
    return WrongSize(part.payload->size(), part.rows, job_.layout);
  }
  PENSTOCK_RETURN_IF_ERROR(CheckReplaced(part));
  PENSTOCK_RETURN_IF_ERROR(CheckImageNotes(part));
  if (!part.crc32c.has_value()) return absl::OkStatus();
  const uint32_t computed = part.payload->Crc32c();
  if (computed == *part.crc32c) return absl::OkStatus();
  return counters_.CountChecksumFailure(id.server, part.rows, computed, *part.crc32c);
}

void Driver::TakeRows(StreamId id, RowSource& rows) {
  const SpanScope span(job_.spans, "fill slots", {"rows", rows.rows()});
  if (rows.row_bytes() != job_.layout.row_bytes()) {
    return Break(id, WrongSize(uint64_t{rows.rows()} * rows.row_bytes(), rows.rows(), job_.layout));
  }
  std::vector<RowCopy> copies = Claim(id, rows.request(), rows.first_row(), rows.rows());
  if (copies.empty()) return;
  const absl::Time start = SteadyNow();
  if (!slots_->Decode(rows, copies)) return EndWith(id, rows.failure());
  counters_.CountPart(id.server, rows.rows(), SteadyNow() - start, rows.images());
  FinishPart(std::move(copies));
}

// The rows stay claimed, because the job ends.
void Driver::EndWith(StreamId id, const absl::Status& undecodable) {
  MutexLock lock(&work_mutex_);
  controller_.OnUndecodable(SteadyNow(), id, undecodable);
  CarryOut();
}

absl::Status Driver::CheckReplaced(const ReceivedPart& part) const {
  const uint64_t records = job_.manifest.num_records(Split::kAll);
  for (const ReplacedRow& row : part.replaced) {
    if (row.row < part.rows && row.record < records) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("sent an invalid note about a replaced record: row ", row.row,
                     " of a part of ", part.rows, " rows, record ", row.record, " of ", records));
  }
  return absl::OkStatus();
}

absl::Status Driver::CheckImageNotes(const ReceivedPart& part) {
  for (const ImageNote& note : part.image_notes) {
    if (note.row < part.rows) continue;
    return absl::FailedPreconditionError(absl::StrCat("sent an image note for row ", note.row,
                                                      " of a part of ", part.rows, " rows"));
  }
  return absl::OkStatus();
}

void Driver::NoteReplaced(std::span<const ReplacedRow> rows, std::span<const RowCopy> taken) {
  std::vector<const ReplacedRow*> replaced;
  for (const ReplacedRow& row : rows) {
    if (IsTaken(row.row, taken)) replaced.push_back(&row);
  }
  if (replaced.empty()) return;
  counters_.AddUndecodable(replaced.size());
  MutexLock lock(&work_mutex_);
  const absl::Time now = SteadyNow();
  if (now >= name_again_at_) {
    name_again_at_ = now + kNamedAgainAfter;
    names_left_ = kNamedAtATime;
  }
  replaced.resize(std::min<size_t>(replaced.size(), names_left_));
  for (const ReplacedRow* row : replaced) {
    --names_left_;
    Report(absl::StrCat(
        "replaced a record that cannot be decoded, ",
        NameRecord(job_.manifest, job_.shards, row->record), row->why.empty() ? "" : ": ", row->why,
        names_left_ > 0 ? "" : "; further ones are counted, but not reported for a while"));
  }
}

std::vector<RowCopy> Driver::Claim(StreamId id, uint64_t request, uint32_t first_row,
                                   uint32_t rows) {
  MutexLock lock(&work_mutex_);
  std::vector<RowCopy> copies;
  if (StreamOf(id) == nullptr) return copies;
  if (!spare_copies_.empty()) {
    copies = std::move(spare_copies_.back());
    spare_copies_.pop_back();
  }
  const absl::Time now = SteadyNow();
  const auto claimed = controller_.OnPart(now, id, request, first_row, rows);
  copies.assign(claimed.begin(), claimed.end());
  controller_.AskForMore(now);
  CarryOut();
  scheduling_ += SteadyNow() - now;
  WakeIfDue();
  return copies;
}

void Driver::FinishPart(std::vector<RowCopy> copies) {
  MutexLock lock(&work_mutex_);
  controller_.OnPartCopied(copies);
  CarryOut();
  copies.clear();
  spare_copies_.push_back(std::move(copies));
  WakeIfDue();
}

void Driver::WakeIfDue() {
  if (wake_ == absl::InfinitePast()) return;  // The thread was woken already.
  if (closing_.empty() && reports_.empty() && controller_.NextAdvance() >= wake_) return;
  wake_ = absl::InfinitePast();
  incoming_.Push({{}, IncomingDue()});
}

void Driver::PublishReplaced() {
  const auto damaged = controller_.replaced();
  while (num_replaced_ < damaged.size()) {
    const Damage& damage = damaged[num_replaced_++];
    counters_.AddDamage(CountDamaged(job_.manifest, job_.shards, damage),
                        NameDamage(job_.manifest, job_.shards, damage));
  }
}

// Returns the transports of removed servers. Servers that restart on other ports leave transports
// behind, which would add up.
std::vector<std::unique_ptr<Transport>> Driver::TakeUnusedTransports() {
  std::vector<std::unique_ptr<Transport>> unused;
  for (size_t i = 0; i < std::min(controller_.servers().size(), job_.transports.size()); ++i) {
    const bool removed = controller_.servers()[i].state == ServerState::kRemoved;
    if (removed && job_.transports[i] != nullptr) unused.push_back(std::move(job_.transports[i]));
  }
  return unused;
}

Stream* Driver::StreamOf(StreamId id) {
  if (id.server >= connections_.size()) return nullptr;  // The driver ends.
  Connection* connection = connections_[id.server].get();
  const bool current = connection != nullptr && connection->generation == id.generation;
  return current ? connection->stream.get() : nullptr;
}

absl::StatusOr<Transport*> Driver::TransportOf(uint32_t server, const std::string& address) {
  if (server >= job_.transports.size()) job_.transports.resize(server + 1);
  std::unique_ptr<Transport>& transport = job_.transports[server];
  if (transport == nullptr && job_.make_transport == nullptr) {
    return absl::UnimplementedError(absl::StrCat(
        address,
        ": not one of the servers that this loader was opened with; it cannot add servers"));
  }
  if (transport == nullptr) {
    PENSTOCK_ASSIGN_OR_RETURN(transport, job_.make_transport(address));
  }
  return transport.get();
}

void Driver::CarryOut() { commands_.CarryOut(controller_.replaced(), *this); }

void Driver::OpenStream(StreamId id, const std::string& address) {
  if (id.server >= connections_.size()) connections_.resize(id.server + 1);
  absl::StatusOr<Transport*> transport = TransportOf(id.server, address);
  if (!transport.ok()) return Break(id, transport.status());
  counters_.BeginStream(id.server, address);
  auto connection =
      std::make_unique<Connection>(id, incoming_, incoming_limits_, static_cast<PartTaker*>(this));
  connection->stream = (*transport)->Connect(job_.stream, connection->listener);
  connections_[id.server] = std::move(connection);
}

void Driver::CloseStream(StreamId id) {
  if (StreamOf(id) != nullptr) closing_.push_back(std::move(connections_[id.server]));
}

void Driver::OpenWindow(StreamId id, const WindowRequest& window) {
  Stream* stream = StreamOf(id);
  if (stream == nullptr) return;
  const SpanScope span(job_.spans, "open window", {"window", window.number});
  stream->OpenWindow(MakeWindowMessage(job_.manifest, job_.shards, job_.plan.options(), window));
  counters_.CountWindow(id.server);
}

void Driver::ReleaseWindow(StreamId id, uint64_t window) {
  if (Stream* stream = StreamOf(id)) stream->Release(window);
}

void Driver::Fetch(StreamId id, const FetchRequest& fetch) {
  Stream* stream = StreamOf(id);
  if (stream == nullptr) return;
  const SpanScope span(job_.spans, "request", {"rows", uint64_t{fetch.rows} * fetch.count});
  stream->Fetch({.request = fetch.request,
                 .window = fetch.window,
                 .first_row = fetch.first_row,
                 .rows = fetch.rows,
                 .stride = fetch.stride,
                 .count = fetch.count,
                 .dtype = job_.dtype,
                 .needed_at = fetch.needed_at});
}

void Driver::Cancel(StreamId id, uint64_t request) {
  if (Stream* stream = StreamOf(id)) stream->Cancel(request);
}

void Driver::Deliver(const ReadyStep& step) {
  const SpanScope span(job_.spans, "deliver", {"batch", step.index});
  (*slots_)[step.slot].Describe(step, job_.plan.fingerprint(), job_.layout);
  ready_.Push(step.slot);
}

std::string Driver::NameChunks(std::span<const uint32_t> chunks) const {
  std::string names;
  for (uint32_t number : chunks) {
    const ChunkInfo chunk = job_.manifest.chunk(number);
    absl::StrAppend(&names, names.empty() ? "" : ", ", job_.shards.paths[chunk.shard],
                    " at offset ", chunk.offset);
  }
  return names;
}

void Driver::Report(absl::string_view message) {
  if (job_.report) reports_.emplace_back(message);
}

void Driver::Tell(const std::vector<std::string>& messages) {
  absl::Status told = CallReport(job_.report, messages);
  if (!told.ok()) ready_.Close(std::move(told));
}

void Driver::Finish() {
  fetched_all_ = true;
  ready_.Close();
}

void Driver::Fail(absl::Status status) {
  // The cause may be that the servers could not be found at all.
  if (absl::IsUnavailable(status) && !servers_problem_.ok()) {
    status =
        absl::UnavailableError(absl::StrCat(status.message(), "; ", servers_problem_.message()));
  }
  ready_.Close(std::move(status));
}

}  // namespace penstock
