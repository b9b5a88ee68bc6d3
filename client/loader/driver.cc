#include "client/loader/driver.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "records/base/status.h"

namespace penstock {
namespace {

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

// Every row of every slot may be asked of one server, again after a Cancel whose answer was on its
// way, and answered row by row; a server tolerates 1,024 windows and 4,096 requests of a stream.
IncomingLimits LimitsOf(const SlotLayout& layout, size_t num_slots) {
  const uint64_t bytes = uint64_t{4} * num_slots * layout.slot_bytes();
  return {.messages = (1 << 15) + bytes / std::max<size_t>(layout.row_bytes(), 1),
          .bytes = bytes + (uint64_t{16} << 20)};
}

}  // namespace

Driver::Driver(const DriverJob& job, const Steps& steps, SchedulerOptions options)
    : job_(job),
      ready_(options.num_slots),
      incoming_limits_(LimitsOf(job.layout, options.num_slots)),
      scheduler_(job.plan, steps, options, *this),
      connections_(job.transports.size()) {
  MutexLock lock(&mutex_);
  stats_.slots = options.num_slots;
  for (const auto& transport : job.transports) {
    stats_.servers.emplace_back().address = transport->address();
  }
}

Driver::~Driver() {
  Close();
  incoming_.Close();
}

void Driver::Start(SlotSet& slots) {
  slots_ = &slots;
  thread_ = std::jthread([this] { Run(); });
}

absl::StatusOr<std::optional<uint32_t>> Driver::Next() {
  const absl::Time start = SteadyNow();
  if (ready_.empty()) {
    incoming_.Push({{}, IncomingConsumerWaiting{popped_}});
    MutexLock lock(&mutex_);
    waiting_since_ = start;
  }
  std::optional<uint32_t> slot = ready_.Pop();
  popped_ += slot.has_value();
  MutexLock lock(&mutex_);
  waiting_since_.reset();
  stats_.wait += SteadyNow() - start;
  if (closed_) return absl::CancelledError("the loader was closed");
  if (!slot.has_value() && !ready_.status().ok()) return ready_.status();
  if (slot.has_value()) {
    ++stats_.batches;
    stats_.rows += (*slots_)[*slot].rows;
    stats_.bytes += (*slots_)[*slot].rows * job_.layout.row_bytes();
  }
  return slot;
}

void Driver::Close() {
  {
    MutexLock lock(&mutex_);
    closed_ = true;
  }
  ready_.Close();
}

void Driver::ChangeServers(std::vector<std::string> addresses) {
  incoming_.Push({{}, IncomingServers{std::move(addresses)}});
}

void Driver::Release(uint32_t slot) { incoming_.Push({{}, IncomingSlotReleased{slot}}); }

LoaderStats Driver::stats() const {
  MutexLock lock(&mutex_);
  LoaderStats stats = stats_;
  if (waiting_since_.has_value()) stats.wait += SteadyNow() - *waiting_since_;
  return stats;
}

void Driver::Run() {
  std::vector<Incoming> incoming;
  absl::Time wake = scheduler_.Advance(SteadyNow());
  while (incoming_.TakeAll(wake, incoming)) {
    const absl::Time now = SteadyNow();
    for (Incoming& item : incoming) Handle(now, item);
    incoming.clear();  // Parts return to their transports.
    wake = scheduler_.Advance(now);
    PublishServers();
  }
  incoming.clear();
  connections_.clear();
}

void Driver::Handle(absl::Time now, Incoming& incoming) {
  const StreamId id = incoming.stream;
  std::visit(
      Overloaded{
          [&](const ServerInfo& info) { scheduler_.OnHello(now, id, info); },
          [&](const IncomingWindowReady& ready) {
            scheduler_.OnWindowReady(now, id, ready.window);
          },
          [&](ReceivedPart& part) {
            HandlePart(now, id, part);
            part.payload.reset();
          },
          [&](const StreamError& error) { scheduler_.OnError(now, id, error); },
          [&](const IncomingCredit& credit) { scheduler_.OnCredit(now, id, credit.bytes); },
          [&](const IncomingDraining& draining) { scheduler_.OnDraining(now, id, draining.grace); },
          [&](const IncomingSharedMemory& shared) { NoteSharedMemory(id.server, shared.status); },
          [&](absl::Status& status) { scheduler_.OnBroken(now, id, std::move(status)); },
          [&](const IncomingSlotReleased& slot) { scheduler_.OnSlotReleased(slot.slot); },
          [&](const IncomingConsumerWaiting& waiting) {
            scheduler_.OnConsumerWaiting(now, waiting.step);
          },
          [&](const IncomingServers& servers) {
            scheduler_.OnServersChanged(now, servers.addresses);
          },
      },
      incoming.what);
}

void Driver::HandlePart(absl::Time now, StreamId id, const ReceivedPart& part) {
  if (StreamOf(id) == nullptr) return;
  if (part.payload->size() != uint64_t{part.rows} * job_.layout.row_bytes()) {
    return scheduler_.OnBroken(
        now, id,
        absl::FailedPreconditionError(absl::StrCat(
            "sent ", part.payload->size(), " bytes for ", part.rows, " rows of ",
            job_.layout.row_bytes(), " bytes: it decodes otherwise than this client expects")));
  }
  if (part.crc32c.has_value()) {
    const uint32_t computed = part.payload->Crc32c();
    if (computed != *part.crc32c) return RefuseDamaged(now, id, part, computed);
  }
  const std::span<const RowCopy> copies =
      scheduler_.OnPart(now, id, part.request, part.first_row, part.rows);
  if (copies.empty()) return;
  for (const RowCopy& copy : copies) {
    job_.layout.CopyRows(*part.payload, part.rows, copy, (*slots_)[copy.slot].memory);
  }
  CountPart(id.server, part);
  scheduler_.OnPartCopied();
}

void Driver::RefuseDamaged(absl::Time now, StreamId id, const ReceivedPart& part,
                           uint32_t computed) {
  uint64_t failures = 0;
  {
    MutexLock lock(&mutex_);
    failures = ++stats_.servers[id.server].checksum_failures;
  }
  scheduler_.OnBroken(now, id,
                      absl::DataLossError(absl::StrCat(
                          "checksum of a part from ", job_.transports[id.server]->address(), " of ",
                          part.rows, " rows differs: computed ", absl::Hex(computed), ", sent ",
                          absl::Hex(*part.crc32c), "; failure ", failures, " of this server")));
}

void Driver::CountPart(uint32_t server, const ReceivedPart& part) {
  MutexLock lock(&mutex_);
  LoaderStats::Server& counted = stats_.servers[server];
  ++counted.parts;
  counted.rows += part.rows;
  counted.bytes += part.payload->size();
}

void Driver::NoteSharedMemory(uint32_t server, const absl::Status& status) {
  MutexLock lock(&mutex_);
  stats_.servers[server].shared_memory = status.ok() ? "ok" : std::string(status.message());
}

void Driver::PublishServers() {
  MutexLock lock(&mutex_);
  stats_.servers.resize(scheduler_.servers().size());
  for (size_t i = 0; i < stats_.servers.size(); ++i) {
    const ServerEntry& server = scheduler_.servers()[i];
    LoaderStats::Server& published = stats_.servers[i];
    if (published.address.empty()) published.address = server.address;
    published.connected =
        server.state == ServerState::kUp || server.state == ServerState::kDraining;
    published.requests_in_flight = server.has_stream() ? server.outstanding_requests : 0;
    published.lost_requests = scheduler_.lost_requests(static_cast<uint32_t>(i));
    published.stream_breaks = server.counted.breaks;
  }
}

Stream* Driver::StreamOf(StreamId id) {
  Connection* connection = connections_[id.server].get();
  const bool current = connection != nullptr && connection->generation == id.generation;
  return current ? connection->stream.get() : nullptr;
}

absl::StatusOr<Transport*> Driver::TransportOf(uint32_t server, const std::string& address) {
  if (server >= job_.transports.size()) job_.transports.resize(server + 1);
  std::unique_ptr<Transport>& transport = job_.transports[server];
  if (transport == nullptr && job_.make_transport == nullptr) {
    return absl::UnimplementedError(absl::StrCat(address, ": this loader's servers are fixed"));
  }
  if (transport == nullptr) {
    PENSTOCK_ASSIGN_OR_RETURN(transport, job_.make_transport(address));
  }
  return transport.get();
}

void Driver::OpenStream(StreamId id, const std::string& address) {
  if (id.server >= connections_.size()) connections_.resize(id.server + 1);
  absl::StatusOr<Transport*> transport = TransportOf(id.server, address);
  if (!transport.ok()) return incoming_.Push({id, transport.status()});
  {
    MutexLock lock(&mutex_);
    if (id.server >= stats_.servers.size()) stats_.servers.resize(id.server + 1);
  }
  auto connection = std::make_unique<Connection>(id, incoming_, incoming_limits_);
  connection->stream = (*transport)->Connect(job_.stream, connection->listener);
  connections_[id.server] = std::move(connection);
}

void Driver::CloseStream(StreamId id) {
  if (StreamOf(id) == nullptr) return;
  connections_[id.server].reset();
}

void Driver::OpenWindow(StreamId id, const WindowRequest& window) {
  Stream* stream = StreamOf(id);
  if (stream == nullptr) return;
  stream->OpenWindow(MakeWindowMessage(job_.manifest, job_.shards, job_.plan.options(), window));
  MutexLock lock(&mutex_);
  ++stats_.servers[id.server].windows;
}

void Driver::ReleaseWindow(StreamId id, uint64_t window) {
  if (Stream* stream = StreamOf(id)) stream->Release(window);
}

void Driver::Fetch(StreamId id, const FetchRequest& fetch) {
  Stream* stream = StreamOf(id);
  if (stream == nullptr) return;
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
  (*slots_)[step.slot].Describe(step, job_.plan.fingerprint(), job_.layout);
  ready_.Push(step.slot);
}

void Driver::Finish() { ready_.Close(); }

void Driver::Fail(absl::Status status) { ready_.Close(std::move(status)); }

}  // namespace penstock
