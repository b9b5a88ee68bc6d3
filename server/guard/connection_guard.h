// Cuts off connections that send bytes for which no call accounts.
//
// gRPC 1.51 allocates memory for what a connection sends before any code of ours sees it: headers
// without an end, calls that are reset as soon as they begin, messages without their last byte. It
// uses up to 500 bytes for each byte received, and tells nobody. So the guard watches from outside:
// it compares the bytes that the kernel received for a connection with those that its calls account
// for. It resets the connection if the difference is more than an honest client needs
// (docs/internals/adr/2026-11-25-connections-are-watched-from-outside.md).
#ifndef PENSTOCK_SERVER_GUARD_CONNECTION_GUARD_H_
#define PENSTOCK_SERVER_GUARD_CONNECTION_GUARD_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/io/unique_fd.h"
#include "base/mutex.h"
#include "server/guard/account_book.h"
#include "server/guard/flood_meter.h"
#include "server/guard/guard_limits.h"
#include "server/guard/waiting_room.h"
#include "server/guard/watched_socket.h"
#include "server/log_limiter.h"

namespace penstock {

// Statistics of the guard. `open` and `waiting` are current values. The others are counters from
// the start.
struct GuardStats {
  uint64_t open = 0;
  uint64_t waiting = 0;
  uint64_t cut = 0;        // Connections cut off for a flood.
  uint64_t displaced = 0;  // Connections without a Hello that made room for another.
  uint64_t refused = 0;    // Connections refused because too many waited.
};

// Serves all ports of a server. Its thread sleeps while nothing is received. Otherwise it uses at
// most a few percent of a core. Thread-safe.
class ConnectionGuard {
 public:
  // Returns the number of bytes of the memory from which gRPC allocates.
  using Allocated = std::function<uint64_t()>;
  // Returns the bytes that malloc() has given out, or 0 if that is unknown. The engine's chunks and
  // parts are elsewhere.
  static uint64_t AllocatedBytes();

  // `allocated` must not count what others than connections make the process allocate. It is called
  // on the guard's thread.
  // kResourceExhausted: no descriptor or thread is available.
  static absl::StatusOr<std::unique_ptr<ConnectionGuard>> Start(
      const GuardLimits& limits, Allocated allocated = AllocatedBytes);
  // Calls Close().
  ~ConnectionGuard();

  // Hands the connection over, now or when its turn comes. Watches it until it is closed.
  void Enter(Arrival arrival);
  // Closes the connections that wait, and those that enter later. After it has returned, no
  // `hand_over` is called.
  void Close();

  GuardStats stats() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Connection {
    WatchedSocket socket;
    PeerName name;
    std::shared_ptr<AccountBook> accounts;
    std::shared_ptr<ConnectionAccount> account;
    FloodMeter meter;
    Clock::time_point since, active;
    Standing standing = Standing::kStranger;  // Its standing at the last look.
    double blame = 0;                         // Its share of blame_.
    bool cut = false;
  };
  // Number of connections of each standing below kClient, without those that were cut.
  using Places = std::array<size_t, static_cast<size_t>(Standing::kClient)>;
  struct Host {
    Places places{};
    Clock::time_point penalized_until, next_turn;
  };

  ConnectionGuard(const GuardLimits& limits, Allocated allocated);
  void Run();
  // Returns true if something suspicious was seen, so that the next look should come soon.
  bool LookAtAll(const std::vector<uint64_t>& active);
  void LookAtActive(const std::vector<uint64_t>& active, Clock::time_point now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Look(Connection& connection, Clock::time_point now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Measure(Connection& connection, Clock::time_point now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SetBlame(Connection& connection, double blame) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void JudgeMemory(Clock::time_point now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CutWorst() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void End(Connection& connection) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Cut(Connection& connection, absl::string_view cause) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Rise(Connection& connection) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Looks at all connections, including those that have sent nothing since the last look.
  void LookAtQuiet(Clock::time_point now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ForgetClosed(Clock::time_point now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Forget(const Connection& connection) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CountPlace(const Connection& connection, int change) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Rearm(const std::vector<uint64_t>& active);

  // The queue of connections that wait for a place among gRPC's strangers:
  bool HasPlace(const std::string& host, Clock::time_point now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Watch(const Arrival& arrival) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<Arrival> TakeTurns(Clock::time_point now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DisplaceStrangers(Clock::time_point now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Displaces a connection of this standing if the host, or all hosts together, have one too many.
  void LimitPlaces(const std::string& host, Standing standing)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Connection* LeastActive(const std::string& host, Standing standing)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  const std::string& HostWithMost(Standing standing) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Displace(Connection& connection) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Wait(std::chrono::microseconds time) const;
  int TimeoutMs() const;
  void GiveMemoryBack();

  const GuardLimits limits_;
  const Allocated allocated_;
  LogLimiter log_;
  UniqueFd epoll_;
  UniqueFd wake_;  // Readable once the guard is closed.

  mutable Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  std::map<uint64_t, Connection> connections_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Host> hosts_ ABSL_GUARDED_BY(mutex_);
  WaitingRoom waiting_ ABSL_GUARDED_BY(mutex_);
  Places places_ ABSL_GUARDED_BY(mutex_){};  // Summed over all hosts.
  GuardStats stats_ ABSL_GUARDED_BY(mutex_);

  // Values at the last moment without a flood:
  uint64_t calm_memory_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t calm_connections_ ABSL_GUARDED_BY(mutex_) = 0;
  double blame_ ABSL_GUARDED_BY(mutex_) = 0;  // Summed over all connections.
  // Summed over the connections that were active at the last look.
  double active_blame_ ABSL_GUARDED_BY(mutex_) = 0;
  Clock::time_point judged_ ABSL_GUARDED_BY(mutex_);
  Clock::time_point spared_until_ ABSL_GUARDED_BY(mutex_);
  Clock::time_point swept_ ABSL_GUARDED_BY(mutex_);
  Clock::time_point trim_until_ ABSL_GUARDED_BY(mutex_);
  Clock::time_point trimmed_ ABSL_GUARDED_BY(mutex_);
  uint64_t free_after_trim_ ABSL_GUARDED_BY(mutex_) = 0;

  std::jthread thread_;  // Last member: it uses all of the above.
};

// One port of a server. Passes its connections to the guard, and finds the accounts of its calls.
// Can be copied. The guard must outlive it. Thread-safe.
class GuardedPort {
 public:
  explicit GuardedPort(ConnectionGuard& guard) : guard_(&guard) {}

  void Enter(UniqueFd connection, const std::function<void(UniqueFd connection)>& hand_over) const {
    PeerName name = PeerNameOf(connection.get());
    guard_->Enter({std::move(connection), std::move(name), accounts_, hand_over});
  }
  // `grpc_peer` is the caller's name in gRPC.
  OpenCall BeginCall(absl::string_view grpc_peer) const {
    return OpenCall(accounts_->Find(grpc_peer));
  }

 private:
  ConnectionGuard* guard_;
  std::shared_ptr<AccountBook> accounts_ = std::make_shared<AccountBook>();  // Shared with copies.
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_GUARD_CONNECTION_GUARD_H_
