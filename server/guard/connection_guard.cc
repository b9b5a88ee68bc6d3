#include "server/guard/connection_guard.h"

#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "absl/strings/str_cat.h"
#include "base/process/process_stats.h"
#include "base/process/start_thread.h"
#include "base/status.h"
#include "server/log.h"

namespace penstock {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// The kernel doubles these sizes. What gRPC reads at once uses up to 500 times as much memory
// before the guard can see it. A TCP window below half of the first one, which has 64 KiB, would
// make the peer wait for TCP's timers.
constexpr int kReceiveBufferOfStranger = 32 << 10;
constexpr int kReceiveBufferOfClient = 256 << 10;

constexpr int kEvents = 256;
constexpr uint64_t kWake = 0;  // No connection has this number.
// Pauses between two looks at one connection.
constexpr microseconds kPauseOfFlood{500};
constexpr microseconds kPause{5'000};
constexpr microseconds kLongestPause{50'000};
// The pause after a look is this many times as long as the look, so that the guard's share of a
// core stays small while connections behave.
constexpr int kPausesPerLook = 32;
constexpr milliseconds kSweep{500};
constexpr milliseconds kPatienceWithMemory{2};
// Time between two cuts for memory. By then a part of what the first one ended is freed.
constexpr milliseconds kGrace{5};
constexpr double kCalmBlame = 16 << 10;
constexpr milliseconds kTrim{1'000};
constexpr milliseconds kTrimAfterCut{5'000};
constexpr milliseconds kLongestWithoutTrim{5'000};
constexpr uint64_t kWorthATrim = uint64_t{16} << 20;

// The part of this process's memory from which gRPC allocates. Both values are 0 if they are
// unknown.
struct Heap {
  uint64_t allocated = 0;  // Bytes that malloc() has given out.
  uint64_t free = 0;       // Free bytes that malloc() keeps.
};

Heap ReadHeap() {
#if defined(__GLIBC__)
  const struct mallinfo2 info = mallinfo2();
  return {info.uordblks + info.hblkhd, info.fordblks};
#else
  return {};
#endif
}

// Makes this thread's wait for a processor short, because a flood uses memory as long as it lasts.
// A higher priority needs a privilege, and a short time slice needs Linux 6.12, so both are tried.
void PreferThisThread() {
  const auto thread = static_cast<id_t>(syscall(SYS_gettid));
  setpriority(PRIO_PROCESS, thread, -15);
  // sched_attr of linux/sched/types.h. Its `runtime` is the time slice of a normal thread; a thread
  // with a short slice runs sooner.
  struct {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
  } attributes{.size = sizeof attributes,
               .policy = SCHED_OTHER,
               .flags = 0,
               .nice = getpriority(PRIO_PROCESS, thread),
               .priority = 0,
               .runtime = 100'000,
               .deadline = 0,
               .period = 0};
  syscall(SYS_sched_setattr, thread, &attributes, 0);
}

size_t IndexOf(Standing standing) { return static_cast<size_t>(standing); }

// The limit on streams also limits the number of clients.
bool HasLimitedPlaces(Standing standing) { return standing < Standing::kClient; }

double SecondsOf(std::chrono::steady_clock::time_point time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

}  // namespace

uint64_t ConnectionGuard::AllocatedBytes() { return ReadHeap().allocated; }

ConnectionGuard::ConnectionGuard(const GuardLimits& limits, Allocated allocated)
    : limits_(limits),
      allocated_(std::move(allocated)),
      waiting_(std::min(limits.waiting, static_cast<size_t>(DescriptorLimit() / 16))) {}

absl::StatusOr<std::unique_ptr<ConnectionGuard>> ConnectionGuard::Start(const GuardLimits& limits,
                                                                        Allocated allocated) {
  std::unique_ptr<ConnectionGuard> guard(new ConnectionGuard(limits, std::move(allocated)));
  guard->epoll_ = UniqueFd(epoll_create1(EPOLL_CLOEXEC));
  guard->wake_ = UniqueFd(eventfd(0, EFD_CLOEXEC));
  if (!guard->epoll_.valid() || !guard->wake_.valid()) {
    return ErrnoToStatus(errno, "creating the descriptors of the connection guard");
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
    waiting_.Clear();
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

void ConnectionGuard::Enter(Arrival arrival) {
  WatchedSocket(arrival.connection.get()).SetReceiveBuffer(kReceiveBufferOfStranger);
  {
    MutexLock lock(&mutex_);
    if (closed_) return;
    if (!waiting_.empty() || !HasPlace(arrival.name.host, Clock::now())) {
      if (!waiting_.Add(std::move(arrival))) ++stats_.refused;
      // The next look decides when the connection gets its turn. Wakes the thread, because that
      // look may be far off.
      eventfd_write(wake_.get(), 1);
      return;
    }
    Watch(arrival);
  }
  arrival.hand_over(std::move(arrival.connection));
}

bool ConnectionGuard::HasPlace(const std::string& host, Clock::time_point now) {
  const Host& at = hosts_[host];
  const size_t index = IndexOf(Standing::kStranger);
  const size_t strangers = at.places[index];
  if (places_[index] >= limits_.strangers || strangers >= limits_.strangers_of_host) {
    return false;
  }
  return now >= at.penalized_until || (strangers == 0 && now >= at.next_turn);
}

void ConnectionGuard::Watch(const Arrival& arrival) {
  const Clock::time_point now = Clock::now();
  const uint64_t id = next_id_++;
  Connection& added = connections_[id];
  added.socket = WatchedSocket(arrival.connection.get());
  added.name = arrival.name;
  added.accounts = arrival.accounts;
  added.account = arrival.accounts->Open(arrival.name.peer, added.socket, limits_.waiting_calls);
  added.meter = FloodMeter(limits_, SecondsOf(now));
  added.since = added.active = now;
  CountPlace(added, 1);
  hosts_[arrival.name.host].next_turn = now + limits_.spacing;
  epoll_event event{.events = EPOLLIN | EPOLLRDHUP | EPOLLONESHOT, .data = {.u64 = id}};
  epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, arrival.connection.get(), &event);
}

void ConnectionGuard::CountPlace(const Connection& connection, int change) {
  if (!HasLimitedPlaces(connection.standing)) return;
  hosts_[connection.name.host].places[IndexOf(connection.standing)] += change;
  places_[IndexOf(connection.standing)] += change;
}

void ConnectionGuard::Run() {
  PreferThisThread();
  std::vector<epoll_event> events(kEvents);
  std::vector<uint64_t> active;
  while (true) {
    const int count = epoll_wait(epoll_.get(), events.data(), kEvents, TimeoutMs());
    const Clock::time_point begun = Clock::now();
    active.clear();
    for (int i = 0; i < count; ++i) {
      const uint64_t id = events[i].data.u64;  // A copy, because the event is packed.
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

// Returns false if the guard was closed.
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
  std::vector<Arrival> turns;
  bool flood = false;
  {
    MutexLock lock(&mutex_);
    const Clock::time_point now = Clock::now();
    LookAtActive(active, now);
    JudgeMemory(now);
    if (now >= swept_ + kSweep) LookAtQuiet(now);
    if (now == swept_ || !waiting_.empty()) ForgetClosed(now);
    turns = TakeTurns(now);
    flood = active_blame_ > 0 || !waiting_.empty();
  }
  for (Arrival& turn : turns) turn.hand_over(std::move(turn.connection));
  return flood;
}

void ConnectionGuard::LookAtActive(const std::vector<uint64_t>& active, Clock::time_point now) {
  active_blame_ = 0;
  for (const uint64_t id : active) {
    eventfd_t value;
    if (id == kWake && !closed_) eventfd_read(wake_.get(), &value);
    const auto found = connections_.find(id);
    if (found == connections_.end()) continue;
    found->second.active = now;
    Look(found->second, now);
    active_blame_ += found->second.blame;
  }
}

void ConnectionGuard::Measure(Connection& connection, Clock::time_point now) {
  const ConnectionAccount& account = *connection.account;
  FlowReading reading{.seconds = SecondsOf(now),
                      .message_bytes = account.message_bytes(),
                      .answered_calls = account.answered_calls(),
                      .earned_calls = account.earned_calls(),
                      .requests = account.requests(),
                      .calls = account.calls()};
  const std::optional<TcpTotals> totals = connection.socket.ReadTotals();
  if (!totals.has_value()) return;
  reading.received_bytes = totals->received_bytes;
  reading.sent_bytes = totals->acknowledged_bytes;
  connection.meter.Read(reading);
}

void ConnectionGuard::Look(Connection& connection, Clock::time_point now) {
  if (connection.cut) return;
  Rise(connection);
  // Rise() displaced it: there are too many connections of its standing.
  if (connection.cut) return;
  Measure(connection, now);
  const FloodMeter& meter = connection.meter;
  if (meter.HasTooManyBytes(connection.standing)) {
    return Cut(connection, "it sent too many bytes outside any call or message");
  }
  if (meter.HasTooManyCalls()) {
    return Cut(connection, "it opens calls faster than they are answered");
  }
  if (connection.account->reset()) {
    return Cut(connection, "it opened too many calls without sending their requests");
  }
  if (meter.IsStalled()) {
    return Cut(connection, "it sent part of a message and then stalled");
  }
  SetBlame(connection, meter.Blame(connection.standing));
}

void ConnectionGuard::SetBlame(Connection& connection, double blame) {
  blame_ = std::max(0.0, blame_ + blame - connection.blame);
  connection.blame = blame;
}

void ConnectionGuard::Rise(Connection& connection) {
  const Standing standing = connection.account->standing();
  if (standing == connection.standing) return;
  if (standing == Standing::kClient) connection.socket.SetReceiveBuffer(kReceiveBufferOfClient);
  CountPlace(connection, -1);
  connection.standing = standing;
  CountPlace(connection, 1);
  if (standing == Standing::kKnown || standing == Standing::kInvited) {
    LimitPlaces(connection.name.host, standing);
  }
}

void ConnectionGuard::LimitPlaces(const std::string& host, Standing standing) {
  const bool known = standing == Standing::kKnown;
  const size_t of_host = known ? limits_.known_of_host : limits_.invited_of_host;
  if (hosts_[host].places[IndexOf(standing)] > of_host) {
    Displace(*LeastActive(host, standing));
  } else if (places_[IndexOf(standing)] > (known ? limits_.known : limits_.invited)) {
    Displace(*LeastActive(HostWithMost(standing), standing));
  }
}

// REQUIRES: the host has a connection of this standing.
ConnectionGuard::Connection* ConnectionGuard::LeastActive(const std::string& host,
                                                          Standing standing) {
  Connection* least = nullptr;
  for (auto& [id, connection] : connections_) {
    if (connection.standing != standing || connection.name.host != host) continue;
    if (least == nullptr || connection.active < least->active) least = &connection;
  }
  return least;
}

const std::string& ConnectionGuard::HostWithMost(Standing standing) const {
  const size_t at = IndexOf(standing);
  return std::max_element(hosts_.begin(), hosts_.end(),
                          [at](const auto& a, const auto& b) {
                            return a.second.places[at] < b.second.places[at];
                          })
      ->first;
}

void ConnectionGuard::Displace(Connection& connection) {
  End(connection);
  ++stats_.displaced;
}

// Resets the connection. A stranger keeps its place until gRPC has closed it. Other connections
// give theirs up at once, because there are many of them.
void ConnectionGuard::End(Connection& connection) {
  connection.cut = true;
  connection.socket.Abort();
  SetBlame(connection, 0);
  if (connection.standing == Standing::kStranger) return;
  CountPlace(connection, -1);
  connection.standing = Standing::kClient;  // This standing has no places to count.
}

// The memory that a byte uses in gRPC depends on the kind of flood, so the measure is memory
// itself.
void ConnectionGuard::JudgeMemory(Clock::time_point now) {
  if (now < judged_ + kPatienceWithMemory) return;
  if (active_blame_ < kCalmBlame && now < judged_ + kSweep) return;
  judged_ = now;
  const uint64_t allocated = allocated_();
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

// Cuts the connections with the most blame, until half of all blame is gone.
void ConnectionGuard::CutWorst() {
  std::vector<std::pair<double, Connection*>> worst;
  for (auto& [id, connection] : connections_) {
    if (connection.blame > 0) worst.emplace_back(connection.blame, &connection);
  }
  std::sort(worst.begin(), worst.end(), [](const auto& a, const auto& b) { return a > b; });
  const double enough = blame_ / 2;
  for (const auto& [own, connection] : worst) {
    if (blame_ <= enough) return;
    Cut(*connection, "the server's memory grows while it sends bytes outside any call");
  }
}

void ConnectionGuard::Cut(Connection& connection, absl::string_view cause) {
  const Clock::time_point now = Clock::now();
  End(connection);
  hosts_[connection.name.host].penalized_until = now + limits_.penalty;
  trim_until_ = now + kTrimAfterCut;
  ++stats_.cut;
  if (const std::optional<uint64_t> left_out = log_.Allow(cause)) {
    LogWarning(
        "connection cut off peer={} cause={} received_bytes={} unaccounted_bytes={:.0f} "
        "unanswered_calls={:.0f} waiting_calls={:.0f} left_out={}",
        connection.name.peer, Quoted(cause), connection.meter.received_bytes(),
        connection.meter.bytes(), connection.meter.calls(), connection.meter.waiting_calls(),
        *left_out);
  }
}

void ConnectionGuard::LookAtQuiet(Clock::time_point now) {
  swept_ = now;
  for (auto& [id, connection] : connections_) Look(connection, now);
}

void ConnectionGuard::ForgetClosed(Clock::time_point now) {
  bool some_closed = false;
  for (auto at = connections_.begin(); at != connections_.end();) {
    if (at->second.socket.IsOpen()) {
      if (!at->second.cut) Rise(at->second);  // A call may have been let in since the last look.
      ++at;
      continue;
    }
    Look(at->second, now);  // The connection may have been reset because of its calls.
    Forget(at->second);
    at = connections_.erase(at);
    some_closed = true;
  }
  std::erase_if(hosts_, [now](const auto& entry) {
    return entry.second.places == Places{} && now >= entry.second.penalized_until;
  });
  if (some_closed && ReadHeap().free > free_after_trim_ + kWorthATrim) {
    trim_until_ = now + kTrimAfterCut;
  }
}

void ConnectionGuard::Forget(const Connection& connection) {
  blame_ = std::max(0.0, blame_ - connection.blame);
  CountPlace(connection, -1);
  connection.accounts->Close(connection.name.peer, *connection.account);
}

std::vector<Arrival> ConnectionGuard::TakeTurns(Clock::time_point now) {
  std::vector<Arrival> turns;
  const auto has_place = [this, now](const std::string& host)
                             ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return HasPlace(host, now); };
  while (std::optional<Arrival> next = waiting_.TakeTurn(has_place)) {
    Watch(*next);
    turns.push_back(*std::move(next));
  }
  if (!waiting_.empty()) DisplaceStrangers(now);
  return turns;
}

// Displaces strangers that have kept others waiting for too long.
void ConnectionGuard::DisplaceStrangers(Clock::time_point now) {
  for (auto& [id, connection] : connections_) {
    if (connection.cut || connection.standing != Standing::kStranger) continue;
    if (now - connection.since >= limits_.patience) Displace(connection);
  }
}

void ConnectionGuard::Rearm(const std::vector<uint64_t>& active) {
  MutexLock lock(&mutex_);
  for (const uint64_t id : active) {
    const auto found = connections_.find(id);
    // We hold the lock and have compared the inode, so no other connection can have the
    // descriptor's number yet.
    if (found == connections_.end() || found->second.cut || !found->second.socket.IsOpen())
      continue;
    epoll_event event{.events = EPOLLIN | EPOLLRDHUP | EPOLLONESHOT, .data = {.u64 = id}};
    epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, found->second.socket.number(), &event);
  }
}

// Gives free memory back to the system: malloc() keeps what a flood made it allocate. Nothing else
// here frees so much at once.
void ConnectionGuard::GiveMemoryBack() {
  {
    MutexLock lock(&mutex_);
    const Clock::time_point now = Clock::now();
    // Do it rarely while a flood lasts, because it can take 100 ms and the guard sees nothing
    // meanwhile. Do it once more when everything that was cut off is freed.
    if (trimmed_ >= trim_until_ || now < trimmed_ + kTrim) return;
    const bool is_overdue = now >= trimmed_ + kLongestWithoutTrim;
    if (!is_overdue && now < trim_until_ - kTrimAfterCut + kTrim) return;
    trimmed_ = now;
  }
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
  MutexLock lock(&mutex_);
  free_after_trim_ = ReadHeap().free;
}

}  // namespace penstock
