#include "server/stream_reactor.h"

#include <atomic>
#include <cmath>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text.h"
#include "grpcpp/support/proto_buffer_reader.h"
#include "records/wire/shared_memory.h"
#include "server/call_reactor.h"
#include "server/log.h"
#include "server/part_message.h"

namespace penstock {
namespace {

double Seconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

StreamReactor* StreamReactor::Create(SessionSource& source, StreamOwner& owner, OpenCall call,
                                     Gate::Pass pass, SharedMemoryDoor* door, std::string peer) {
  std::shared_ptr<StreamReactor> stream(
      new StreamReactor(source, owner, std::move(call), std::move(pass), door, std::move(peer)),
      [](StreamReactor* done) { delete done; });
  stream->self_ = stream;
  return stream.get();
}

StreamReactor::StreamReactor(SessionSource& source, StreamOwner& owner, OpenCall call,
                             Gate::Pass pass, SharedMemoryDoor* door, std::string peer)
    : source_(source),
      owner_(owner),
      call_(std::move(call)),
      pass_(std::move(pass)),
      door_(wire::IsLoopbackPeer(peer) ? door : nullptr),
      peer_(std::move(peer)),
      windows_(pass_),
      failures_(pass_, peer_) {}

void StreamReactor::Start() { StartRead(&incoming_); }

void StreamReactor::Drain(uint32_t grace_ms) { Say(Draining{grace_ms}); }

void StreamReactor::End(const absl::Status& status) {
  Outbox dropped;
  {
    MutexLock lock(&mutex_);
    if (end_.has_value()) return;
    end_ = status;
    std::swap(dropped, outbox_);
  }
  FinishIfDue();
}

void StreamReactor::OnReadDone(bool ok) {
  call_.OnRequest();
  if (!ok) {  // The client has closed its side, or is gone.
    CloseSession();
    End(absl::OkStatus());
    return;
  }
  absl::Status status = HandleIncoming();
  call_.account().OnMessage(incoming_bytes_);
  if (status.ok()) {
    ReadOn();
    return;
  }
  TellOfRefusal(status);
  refused_ = true;
  CloseSession();
  End(status);
}

// Logs refusals of each code separately, so that what a stranger repeats does not hide a client of
// another version.
void StreamReactor::TellOfRefusal(const absl::Status& status) const {
  const std::string kind = absl::StrCat("stream refused ", absl::StatusCodeToString(status.code()));
  if (std::optional<uint64_t> left_out = pass_.AllowLog(kind)) {
    LogWarning("stream refused peer={} client={} error={} left_out={}", peer_, Quoted(client_),
               Quoted(Shortened(status.ToString())), *left_out);
  }
}

// Destroys the session without the lock: its destructor waits for running jobs, and stats() must
// not wait for them.
void StreamReactor::CloseSession() {
  std::unique_ptr<Session> closed;
  MutexLock lock(&session_mutex_);
  closed.swap(session_);
}

absl::Status StreamReactor::HandleIncoming() {
  incoming_bytes_ = incoming_.Length();
  grpc::ProtoBufferReader bytes(&incoming_);
  absl::StatusOr<wire::ClientMessage> message = wire::ParseClientMessage(bytes);
  incoming_.Clear();
  PENSTOCK_RETURN_IF_ERROR(message.status());
  bool is_hello = std::holds_alternative<wire::ClientHello>(*message);
  if (is_hello != (session_ == nullptr)) {
    return absl::InvalidArgumentError(is_hello ? "the client sent a second Hello on one stream"
                                               : "the first message of a stream must be Hello");
  }
  return std::visit([this](auto& body) { return Handle(std::move(body)); }, *message);
}

void StreamReactor::EndIfSilent(absl::Duration timeout) {
  if (said_hello_ || Clock::now() - started_ < absl::ToChronoNanoseconds(timeout)) return;
  End(absl::DeadlineExceededError(
      absl::StrCat("the client sent no Hello within ", absl::FormatDuration(timeout))));
}

void StreamReactor::TellOfWait() {
  std::optional<Credit> credit;
  {
    MutexLock lock(&session_mutex_);
    if (session_ != nullptr) credit = CreditToRepeat();
  }
  {
    MutexLock lock(&mutex_);
    if (writing_) return;
  }
  if (credit.has_value()) Say(*credit);
}

// If storage hangs, no sign of life must hide it from the client.
std::optional<Credit> StreamReactor::CreditToRepeat() {
  const SessionStats stats = session_->stats();
  const uint64_t events = num_events_;
  const bool quiet = std::exchange(seen_events_, events) == events;
  const bool proceeds = std::exchange(seen_jobs_, stats.finished_jobs) != stats.finished_jobs;
  if (stats.starved_windows > 0) return Credit{credit_bytes_};
  if (!quiet || !stats.queued || !(proceeds || stats.decoding_jobs > 0)) return std::nullopt;
  return Credit{credit_bytes_, /*working=*/true};
}

absl::Status StreamReactor::Handle(wire::ClientHello hello) {
  if (incoming_bytes_ > wire::kMaxHelloBytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the client's Hello has ", incoming_bytes_, " bytes; the limit is ", wire::kMaxHelloBytes));
  }
  if (hello.protocol_version < wire::kFirstProtocolVersion ||
      hello.protocol_version > wire::kProtocolVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("client speaks protocol version ", hello.protocol_version,
                     ", this server versions ", wire::kFirstProtocolVersion, " to ",
                     wire::kProtocolVersion, "; install the same Penstock on both sides"));
  }
  said_hello_ = true;
  {
    MutexLock lock(&session_mutex_);
    client_ = Printable(hello.options.client);
  }
  PENSTOCK_ASSIGN_OR_RETURN(SessionSource::Opened opened, source_.Open(hello.options, *this));
  {
    MutexLock lock(&session_mutex_);
    session_ = std::move(opened.session);
    credit_bytes_ = opened.credit_bytes;
  }
  TellOfArrival();
  call_.account().Rise(Standing::kClient);
  Say(MakeHello(hello.protocol_version, opened.info));
  Say(Credit{opened.credit_bytes});
  return absl::OkStatus();
}

void StreamReactor::TellOfArrival() {
  const std::optional<uint64_t> left_out = pass_.AllowArrivalLog();
  has_log_lines_ = left_out.has_value();
  if (!has_log_lines_) return;
  LogInfo("client connected peer={} client={} left_out={}", peer_, Quoted(client_), *left_out);
}

wire::ServerHello StreamReactor::MakeHello(uint32_t version, const ServerInfo& info) {
  wire::ServerHello hello{.protocol_version = version, .info = info};
  if (door_ != nullptr) lease_ = door_->MakeLease();
  if (lease_ != nullptr) {
    hello.shm_socket = door_->socket();
    hello.shm_ticket = lease_->ticket();
  }
  return hello;
}

absl::Status StreamReactor::Handle(OpenWindow window) {
  ++num_windows_;
  const absl::Status refused = CheckRoots(window);
  PENSTOCK_RETURN_IF_ERROR(windows_.Add(window.window, incoming_bytes_, refused));
  if (refused.ok()) return session_->OpenWindow(std::move(window));
  StreamError error;
  error.window = window.window;
  error.status = refused;
  failures_.Add(error, client_);
  Say(error);
  return absl::OkStatus();
}

// Check this before the session, because not every client may see what is in its caches.
absl::Status StreamReactor::CheckRoots(const OpenWindow& window) const {
  for (const ShardRef& shard : window.shards) {
    if (pass_.MayRead(shard.path)) continue;
    return absl::PermissionDeniedError(
        absl::StrCat(Printable(shard.path),
                     ": the client's token is limited to other folders; the server's "
                     "--token-file lists them"));
  }
  return absl::OkStatus();
}

absl::Status StreamReactor::Handle(Fetch fetch) {
  ++num_requests_;
  absl::Status refused = windows_.Refusal(fetch.window);
  if (refused.ok()) return session_->Fetch(fetch);
  StreamError error;
  error.request = fetch.request;
  error.status = std::move(refused);
  Say(error);
  return absl::OkStatus();
}

absl::Status StreamReactor::Handle(wire::Cancel cancel) {
  session_->Cancel(cancel.request);
  std::vector<PartBuffer> dropped;
  {
    MutexLock lock(&mutex_);
    dropped = outbox_.RemoveParts(cancel.request);
  }
  return absl::OkStatus();
}

absl::Status StreamReactor::Handle(wire::Release release) {
  return windows_.Remove(release.window) ? session_->Release(release.window) : absl::OkStatus();
}

absl::Status StreamReactor::Handle(wire::Ack ack) {
  PartBuffer returned;  // Destroyed after the lock is released.
  MutexLock lock(&mutex_);
  auto found = lent_.find(ack.offset);
  if (found == lent_.end()) {
    return absl::InvalidArgumentError(absl::StrCat("the client acknowledged offset ", ack.offset,
                                                   ", where no part is outstanding"));
  }
  returned = std::move(found->second);
  lent_.erase(found);
  return absl::OkStatus();
}

absl::Status StreamReactor::Handle(wire::SharedMemoryMapped) {
  std::shared_ptr<SharedPool> pool = lease_ == nullptr ? nullptr : lease_->pool();
  if (pool == nullptr) {
    return absl::InvalidArgumentError(
        "the client reported mapped shared memory, but this stream offered none");
  }
  lease_.reset();
  {
    MutexLock lock(&mutex_);
    pool_ = pool;
  }
  if (has_log_lines_) {
    LogInfo("shared memory mapped peer={} client={} bytes={}", peer_, Quoted(client_),
            pool->size());
  }
  session_->UsePartMemory(std::move(pool));
  return absl::OkStatus();
}

void StreamReactor::ReadOn() {
  {
    MutexLock lock(&mutex_);
    if (end_.has_value()) return;
    read_paused_ = outbox_.num_control() > kMaxQueuedControl;
    if (read_paused_) return;
    ++starting_reads_;
  }
  StartRead(&incoming_);
  {
    MutexLock lock(&mutex_);
    --starting_reads_;
  }
  FinishIfDue();
}

void StreamReactor::Say(const wire::ServerMessage& message) {
  std::string bytes = wire::Encode(message);
  std::optional<Outbox::Item> next;
  {
    MutexLock lock(&mutex_);
    if (end_.has_value()) return;
    outbox_.PushControl(std::move(bytes));
    next = TakeNext();
  }
  if (next.has_value()) Write(*std::move(next));
}

void StreamReactor::OnWindowReady(uint64_t window, uint64_t read_bytes) {
  ++num_events_;
  Say(WindowReady{window, read_bytes});
}

void StreamReactor::OnError(StreamError error) {
  ++num_events_;
  failures_.Add(error, client_);
  if (error.window.has_value()) windows_.OnFailed(*error.window);
  Say(error);
}

void StreamReactor::OnPart(PartBuffer part) {
  num_events_.fetch_add(1, std::memory_order_relaxed);
  std::optional<Outbox::Item> next;
  {
    MutexLock lock(&mutex_);
    if (end_.has_value()) return;
    outbox_.PushPart(std::move(part));
    next = TakeNext();
  }
  if (next.has_value()) Write(*std::move(next));
}

std::optional<Outbox::Item> StreamReactor::TakeNext() {
  if (writing_ || end_.has_value()) return std::nullopt;
  std::optional<Outbox::Item> next = outbox_.Pop();
  writing_ = next.has_value();
  if (writing_) write_start_ = Clock::now();
  return next;
}

void StreamReactor::Write(Outbox::Item item) {
  if (auto* part = std::get_if<PartBuffer>(&item)) {
    num_rows_.fetch_add(part->rows, std::memory_order_relaxed);
    num_parts_.fetch_add(1, std::memory_order_relaxed);
    num_bytes_.fetch_add(part->size(), std::memory_order_relaxed);
    outgoing_ = MessageOf(std::move(*part));
  } else {
    outgoing_ = ToByteBuffer(std::get<std::string>(item));
  }
  StartWrite(&outgoing_);
}

// A part in the stream's pool stays there until the client's Ack. Any other part is sent in the
// message.
grpc::ByteBuffer StreamReactor::MessageOf(PartBuffer part) {
  const std::span<const uint8_t> bytes = part.pieces()[0];
  wire::PartHeader header = HeaderOf(part);
  MutexLock lock(&mutex_);
  if (pool_ == nullptr || bytes.empty() || !pool_->Holds(bytes.data())) {
    header.data_size = part.size();
    return ToMessage(header, std::move(part));
  }
  header.shared_offset = pool_->OffsetOf(bytes.data());
  header.shared_size = static_cast<uint32_t>(bytes.size());
  lent_.insert_or_assign(header.shared_offset, std::move(part));
  return ToMessage(header, PartBuffer());
}

void StreamReactor::FinishIfDue() {
  absl::Status end;
  {
    MutexLock lock(&mutex_);
    if (!end_.has_value() || writing_ || starting_reads_ > 0 || finished_) return;
    finished_ = true;
    end = *end_;
  }
  Finish(ToGrpcStatus(end));  // The reactor may be gone when this returns.
}

void StreamReactor::OnWriteDone(bool ok) {
  outgoing_.Clear();
  std::optional<Outbox::Item> next;
  bool read_on = false;
  {
    MutexLock lock(&mutex_);
    writing_ = false;
    write_wait_ += Clock::now() - write_start_;
    if (ok) next = TakeNext();
    read_on = read_paused_ && outbox_.num_control() <= kMaxQueuedControl / 2;
    // Claim the read under the lock: the next write may be done before this call reads on.
    if (read_on) read_paused_ = false;
  }
  if (!ok) End(absl::CancelledError("the client is gone"));
  if (next.has_value()) Write(*std::move(next));
  if (read_on) ReadOn();
  FinishIfDue();
}

void StreamReactor::OnCancel() { End(absl::CancelledError("the client is gone")); }

void StreamReactor::OnDone() {
  CloseSession();  // No event follows.
  lease_.reset();
  if (has_log_lines_) {
    LogInfo(
        "client left peer={} client={} seconds={} windows={} requests={} rows={} parts={} bytes={} "
        "failed_windows={}",
        peer_, Quoted(client_), std::llround(Seconds(Clock::now() - started_)), num_windows_.load(),
        num_requests_.load(), num_rows_.load(), num_parts_.load(), num_bytes_.load(),
        failures_.failed_windows());
  }
  const std::shared_ptr<StreamReactor> self = std::move(self_);
  // A client that cancels its stream has received its answers nonetheless.
  if (said_hello_) call_.account().OnAnswered();
  pass_ = {};
  owner_.OnStreamDone(this);
}

v1::StreamStats StreamReactor::stats() const {
  v1::StreamStats stats;
  stats.set_peer(peer_);
  stats.set_connected_seconds(Seconds(Clock::now() - started_));
  stats.set_windows(num_windows_.load(std::memory_order_relaxed));
  stats.set_requests(num_requests_.load(std::memory_order_relaxed));
  stats.set_rows(num_rows_.load(std::memory_order_relaxed));
  stats.set_parts(num_parts_.load(std::memory_order_relaxed));
  stats.set_bytes(num_bytes_.load(std::memory_order_relaxed));
  stats.set_failed_windows(failures_.failed_windows());
  stats.set_damaged_windows(failures_.damaged_windows());
  {
    MutexLock lock(&mutex_);
    Clock::duration under_way = writing_ ? Clock::now() - write_start_ : Clock::duration{};
    stats.set_write_wait_seconds(Seconds(write_wait_ + under_way));
  }
  MutexLock lock(&session_mutex_);
  stats.set_client(client_);
  stats.set_credit_bytes(credit_bytes_);
  const SessionStats session = session_ == nullptr ? SessionStats{} : session_->stats();
  stats.set_open_windows(session.windows);
  stats.set_waiting_requests(session.waiting_requests);
  stats.set_waiting_bytes(session.waiting_bytes);
  stats.set_part_bytes(session.part_bytes);
  return stats;
}

}  // namespace penstock
