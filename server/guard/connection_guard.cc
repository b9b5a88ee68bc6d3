#include "server/guard/connection_guard.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "absl/strings/str_cat.h"
#include "records/base/start_thread.h"
#include "records/base/status.h"
#include "server/log_format.h"
#include "spdlog/spdlog.h"

namespace penstock {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// The kernel doubles them. What gRPC reads at once costs it up to 500 times as much before the
// guard can see it. A window below half of the first one, 64 KiB, makes the peer wait for its
// timers.
constexpr int kReceiveBufferOfStranger = 32 << 10;
constexpr int kReceiveBufferOfClient = 256 << 10;

constexpr int kEvents = 256;
constexpr uint64_t kWake = 0;  // No connection has this number.
// Between two looks at one connection.
constexpr microseconds kPauseOfFlood{500};
constexpr microseconds kPause{5'000};
constexpr microseconds kLongestPause{50'000};
// The guard's share of a core while it looks at connections that behave.
constexpr int kPausesPerLook = 32;
constexpr milliseconds kSweep{500};
constexpr milliseconds kPatienceWithMemory{2};
// Between two cuts for memory: some of what the first one ended is freed by then.
constexpr milliseconds kGrace{5};
constexpr double kCalmBlame = 16 << 10;
constexpr milliseconds kTrim{1'000};
constexpr milliseconds kTrimAfterCut{5'000};

// What malloc() has given out: of this process's memory the part that gRPC takes its own from. The
// engine's chunks and parts lie elsewhere. 0: not known.
uint64_t AllocatedBytes() {
#if defined(__GLIBC__)
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
#else
  return 0;
#endif
}

double SecondsOf(std::chrono::steady_clock::time_point time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

}  // namespace

absl::StatusOr<std::unique_ptr<ConnectionGuard>> ConnectionGuard::Start(const GuardLimits& limits) {
  std::unique_ptr<ConnectionGuard> guard(new ConnectionGuard(limits));
  guard->epoll_ = UniqueFd(epoll_create1(EPOLL_CLOEXEC));
  guard->wake_ = UniqueFd(eventfd(0, EFD_CLOEXEC));
  if (!guard->epoll_.valid() || !guard->wake_.valid()) {
    return ErrnoToStatus(errno, "the descriptors of the guard of connections");
  }
  epoll_event wake{.events = EPOLLIN, .data = {.u64 = kWake}};
  epoll_ctl(guard->epoll_.get(), EPOLL_CTL_ADD, guard->wake_.get(), &wake);
  PENSTOCK_ASSIGN_OR_RETURN(
      guard->thread_, StartThread("that guards connections", [it = guard.get()] { it->Run(); }));
  return guard;
}

ConnectionGuard::~ConnectionGuard() { Close(); }

void ConnectionGuard::Close() {
  {
    MutexLock lock(&mutex_);
    closed_ = true;
    waiting_.clear();
  }
  eventfd_write(wake_.get(), 1);
  if (thread_.joinable()) thread_.join();
}

GuardStats ConnectionGuard::stats() const {
  MutexLock lock(&mutex_);
  GuardStats stats = stats_;
  stats.open = connections_.size();
  stats.waiting = waiting_.size();
  return stats;
}

void ConnectionGuard::Enter(UniqueFd connection, const HandOver& hand_over) {
  const WatchedSocket socket(connection.get());
  socket.SetReceiveBuffer(kReceiveBufferOfStranger);
  PeerName name = PeerNameOf(connection.get());
  {
    MutexLock lock(&mutex_);
    if (closed_) return;
    if (!waiting_.empty() || !HasPlace(name.host, Clock::now())) {
      Queue({std::move(connection), std::move(name), hand_over});
      // Its turn comes with a look, which may be long off.
      eventfd_write(wake_.get(), 1);
      return;
    }
    Watch(connection, std::move(name));
  }
  hand_over(std::move(connection));
}

bool ConnectionGuard::HasPlace(const std::string& host, Clock::time_point now) {
  const Host& at = hosts_[host];
  if (strangers_ >= limits_.strangers || at.strangers >= limits_.strangers_of_host) return false;
  return now >= at.penalized_until || (at.strangers == 0 && now >= at.next_turn);
}

void ConnectionGuard::Watch(const UniqueFd& connection, PeerName name) {
  const Clock::time_point now = Clock::now();
  Host& host = hosts_[name.host];
  ++host.strangers;
  ++strangers_;
  host.next_turn = now + limits_.spacing;
  const uint64_t id = next_id_++;
  Connection& added = connections_[id];
  added.socket = WatchedSocket(connection.get());
  added.account = accounts_.Open(name.peer);
  added.name = std::move(name);
  added.meter = FloodMeter(limits_, SecondsOf(now));
  added.since = now;
  epoll_event event{.events = EPOLLIN | EPOLLRDHUP | EPOLLONESHOT, .data = {.u64 = id}};
  epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, connection.get(), &event);
}

// The oldest that waits gives way: whoever is patient comes again.
void ConnectionGuard::Queue(Waiting waiting) {
  waiting_.push_back(std::move(waiting));
  if (waiting_.size() <= limits_.waiting) return;
  waiting_.pop_front();
  ++stats_.refused;
}

void ConnectionGuard::Run() {
  std::vector<epoll_event> events(kEvents);
  std::vector<uint64_t> active;
  while (true) {
    const int count = epoll_wait(epoll_.get(), events.data(), kEvents, TimeoutMs());
    const Clock::time_point begun = Clock::now();
    active.clear();
    for (int i = 0; i < count; ++i) {
      const uint64_t id = events[i].data.u64;  // A copy: the event is packed.
      active.push_back(id);
    }
    const bool flood = LookAtAll(active);
    GiveMemoryBack();
    const auto look = std::chrono::duration_cast<microseconds>(Clock::now() - begun);
    if (!Wait(flood ? kPauseOfFlood : std::clamp(look * kPausesPerLook, kPause, kLongestPause))) {
      return;
    }
    Rearm(active);
  }
}

// False: it was closed.
bool ConnectionGuard::Wait(microseconds time) const {
  const timespec left{.tv_sec = 0, .tv_nsec = std::chrono::nanoseconds(time).count()};
  ppoll(nullptr, 0, &left, nullptr);
  MutexLock lock(&mutex_);
  return !closed_;
}

int ConnectionGuard::TimeoutMs() const {
  MutexLock lock(&mutex_);
  if (!waiting_.empty()) return 5;
  if (Clock::now() < trim_until_) return 250;
  return connections_.empty() ? -1 : static_cast<int>(kSweep.count());
}

bool ConnectionGuard::LookAtAll(const std::vector<uint64_t>& active) {
  std::vector<Waiting> turns;
  bool flood = false;
  {
    MutexLock lock(&mutex_);
    const Clock::time_point now = Clock::now();
    blame_ = 0;
    for (const uint64_t id : active) {
      const auto found = connections_.find(id);
      if (found != connections_.end()) Look(found->second, now);
    }
    JudgeMemory(now);
    if (now >= swept_ + kSweep || !waiting_.empty()) ForgetClosed();
    turns = TakeTurns(now);
    flood = blame_ >= kCalmBlame || !waiting_.empty();
    eventfd_t value;
    if (!closed_ && std::find(active.begin(), active.end(), kWake) != active.end()) {
      eventfd_read(wake_.get(), &value);
    }
  }
  for (Waiting& turn : turns) turn.hand_over(std::move(turn.connection));
  return flood;
}

void ConnectionGuard::Measure(Connection& connection, Clock::time_point now) {
  const ConnectionAccount& account = *connection.account;
  FlowReading reading{.seconds = SecondsOf(now),
                      .earned_bytes = account.earned_bytes(),
                      .calls = account.calls(),
                      .earned_calls = account.earned_calls()};
  const std::optional<TcpTotals> totals = connection.socket.ReadTotals();
  if (!totals.has_value()) return;
  reading.received_bytes = totals->received_bytes;
  reading.sent_bytes = totals->acknowledged_bytes;
  connection.meter.Read(reading);
}

void ConnectionGuard::Look(Connection& connection, Clock::time_point now) {
  if (connection.cut) return;
  Rise(connection);
  Measure(connection, now);
  if (connection.meter.HasTooManyBytes(connection.standing)) {
    return Cut(connection, "it sends bytes that belong to no call or message");
  }
  if (connection.meter.HasTooManyCalls()) {
    return Cut(connection, "it begins calls faster than they are answered");
  }
  blame_ += connection.meter.Blame(connection.standing);
}

void ConnectionGuard::Rise(Connection& connection) {
  const Standing standing = connection.account->standing();
  if (standing == connection.standing) return;
  if (connection.standing == Standing::kStranger) LeaveHost(connection);
  if (standing == Standing::kClient) connection.socket.SetReceiveBuffer(kReceiveBufferOfClient);
  connection.standing = standing;
}

void ConnectionGuard::LeaveHost(const Connection& connection) {
  --hosts_[connection.name.host].strangers;
  --strangers_;
}

// What a byte costs gRPC depends on the kind of flood, so memory itself is the measure.
void ConnectionGuard::JudgeMemory(Clock::time_point now) {
  if (now < judged_ + kPatienceWithMemory) return;
  if (blame_ < kCalmBlame && now < judged_ + kSweep) return;
  judged_ = now;
  const uint64_t allocated = AllocatedBytes();
  if (blame_ < kCalmBlame && now >= trim_until_) {
    calm_memory_ = allocated;
    calm_connections_ = connections_.size();
    return;
  }
  const size_t added = std::max(connections_.size(), calm_connections_) - calm_connections_;
  if (allocated > calm_memory_ + limits_.memory_growth + added * limits_.memory_of_connection &&
      now >= spared_until_) {
    spared_until_ = now + kGrace;
    CutWorst();
  }
}

// Of those to blame the worst, until half of the blame is gone.
void ConnectionGuard::CutWorst() {
  std::vector<std::pair<double, Connection*>> worst;
  for (auto& [id, connection] : connections_) {
    const double own = connection.cut ? 0 : connection.meter.Blame(connection.standing);
    if (own > 0) worst.emplace_back(own, &connection);
  }
  std::sort(worst.begin(), worst.end(), [](const auto& a, const auto& b) { return a > b; });
  double left = blame_;
  for (const auto& [own, connection] : worst) {
    if (left <= blame_ / 2) return;
    left -= own;
    Cut(*connection, "the server's memory grows while it sends what no call accounts for");
  }
}

void ConnectionGuard::Cut(Connection& connection, absl::string_view cause) {
  const Clock::time_point now = Clock::now();
  connection.cut = true;
  connection.socket.Abort();
  hosts_[connection.name.host].penalized_until = now + limits_.penalty;
  trim_until_ = now + kTrimAfterCut;
  ++stats_.cut;
  if (const std::optional<uint64_t> left_out = log_.Allow(cause)) {
    spdlog::warn(
        "connection cut off peer={} cause={} received_bytes={} unaccounted_bytes={:.0f} "
        "unanswered_calls={:.0f} left_out={}",
        connection.name.peer, Quoted(cause), connection.meter.received_bytes(),
        connection.meter.bytes(), connection.meter.calls(), *left_out);
  }
}

void ConnectionGuard::ForgetClosed() {
  const Clock::time_point now = Clock::now();
  swept_ = now;
  for (auto at = connections_.begin(); at != connections_.end();) {
    Connection& connection = at->second;
    Rise(connection);
    if (connection.socket.IsOpen()) {
      ++at;
      continue;
    }
    if (connection.standing == Standing::kStranger) LeaveHost(connection);
    accounts_.Close(connection.name.peer, *connection.account);
    at = connections_.erase(at);
  }
  std::erase_if(hosts_, [now](const auto& entry) {
    return entry.second.strangers == 0 && now >= entry.second.penalized_until;
  });
}

std::vector<ConnectionGuard::Waiting> ConnectionGuard::TakeTurns(Clock::time_point now) {
  std::vector<Waiting> turns;
  if (closed_) return turns;
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    if (!HasPlace(at->name.host, now)) {
      ++at;
      continue;
    }
    Watch(at->connection, at->name);
    turns.push_back(std::move(*at));
    at = waiting_.erase(at);
  }
  if (!waiting_.empty()) Displace(now);
  return turns;
}

// Strangers that hold up others for long.
void ConnectionGuard::Displace(Clock::time_point now) {
  for (auto& [id, connection] : connections_) {
    if (connection.cut || connection.standing != Standing::kStranger) continue;
    if (now - connection.since < limits_.patience) continue;
    connection.cut = true;
    connection.socket.Abort();
    ++stats_.displaced;
  }
}

void ConnectionGuard::Rearm(const std::vector<uint64_t>& active) {
  MutexLock lock(&mutex_);
  for (const uint64_t id : active) {
    const auto found = connections_.find(id);
    // With the lock and the inode's word no other connection can have the number yet.
    if (found == connections_.end() || found->second.cut || !found->second.socket.IsOpen())
      continue;
    epoll_event event{.events = EPOLLIN | EPOLLRDHUP | EPOLLONESHOT, .data = {.u64 = id}};
    epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, found->second.socket.number(), &event);
  }
}

// malloc() keeps what a flood made it take; nothing else here frees so much at once.
void ConnectionGuard::GiveMemoryBack() {
  {
    MutexLock lock(&mutex_);
    const Clock::time_point now = Clock::now();
    // Not while the flood lasts: it can take 100 ms, and the guard sees nothing meanwhile. A last
    // time once all that was cut off is freed.
    if (trimmed_ >= trim_until_ || now < trimmed_ + kTrim) return;
    if (now < trim_until_ - kTrimAfterCut + kTrim) return;
    trimmed_ = now;
  }
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

}  // namespace penstock
