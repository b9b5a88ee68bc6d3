// Keeps the state of each server: whether it can be asked, and when to try again.
#ifndef PENSTOCK_CLIENT_FETCH_SERVER_TABLE_H_
#define PENSTOCK_CLIENT_FETCH_SERVER_TABLE_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "base/counter_rng.h"
#include "client/fetch/fetch_actions.h"
#include "client/fetch/indexed_heap.h"
#include "client/fetch/window_table.h"
#include "records/engine/messages.h"

namespace penstock {

enum class ServerState : uint8_t {
  kConnecting,
  kUp,
  kDraining,  // Finishes its outstanding requests and gets no new ones.
  kBackoff,   // Has no stream until retry_at.
  kRefused,   // Refused the client, or answers differently from others. It is tried again later.
  kRemoved,   // No longer in the set.
};

// Why a server is not used.
enum class Refusal : uint8_t {
  kAccess,   // It refuses the client, or is of another release. Somebody may mend this.
  kData,     // It lacks what the manifest lists, or has other data under its name.
  kAnswers,  // Its answers make no sense.
};

// Counts events of a server since it was first named.
struct ServerCounts {
  uint64_t breaks = 0;         // Streams that ended after Hello.
  uint64_t backoffs = 0;       // Number of times that it was put into backoff.
  uint64_t lost_requests = 0;  // Requests in flight when its stream ended.
  uint64_t late_requests = 0;  // Requests that missed their deadline.
  // Windows taken from it because it was late or silent, or because others joined.
  uint64_t handed_over = 0;
  uint64_t extra_loads = 0;  // Windows given to it that another server had been asked to load.
};

struct ServerEntry {
  std::string address;
  uint32_t index = 0;
  ServerState state = ServerState::kBackoff;
  uint32_t generation = 0;
  bool removed = false;     // Not in the set. Its stream may still finish its outstanding requests.
  bool settled = false;     // True once it has sent Hello or failed.
  bool known = false;       // True once it has sent Hello, which decides its share of the lanes.
  bool productive = false;  // This stream has delivered rows.
  bool newcomer = false;  // It came when lanes were already placed, and has delivered no rows yet.
  // Streams on which this process sent rows or messages that nobody asked for.
  uint32_t nonsense = 0;
  uint32_t barren = 0;                      // Consecutive streams that sent Hello but no rows.
  uint32_t failures = 0;                    // Failures of windows and requests since rows came.
  absl::Time up_at = absl::InfinitePast();  // When this stream's Hello came.
  bool counts = false;                      // Whether it is counted as usable.
  absl::Time retry_at = absl::InfinitePast();
  absl::Duration backoff = absl::ZeroDuration();
  absl::Time drain_by = absl::InfiniteFuture();
  absl::Status last_error;                             // Kept until rows come.
  Refusal refusal = Refusal::kAccess;                  // Why it is in kRefused.
  absl::Duration refused_wait = absl::ZeroDuration();  // The last wait before it was tried again.
  absl::Time tell_refused_at = absl::InfinitePast();   // When the user may be told of it again.
  // The time at which it was first tried, or lost. From then on it is away, until its rows come.
  // `told` records what the user was told about that.
  absl::Time away_since = absl::InfiniteFuture();
  enum class Told : uint8_t { kNothing, kAway, kRefused } told = Told::kNothing;
  ServerInfo info;
  uint64_t credit_bytes = 0;
  uint64_t outstanding_bytes = 0;
  uint32_t outstanding_requests = 0;
  uint32_t open_windows = 0;
  // The latest IdleOrder() of its open windows without requests, or a later one.
  std::pair<bool, uint64_t> last_idle = {};
  RequestEntry* first_request = nullptr;
  RequestEntry* last_request = nullptr;
  uint64_t cancelled_rows = 0;  // Rows of cancelled requests on this stream. They may still come.
  // The time of its last event, or of the first request after a pause. A repeated credit is no
  // event.
  absl::Time heard_at = absl::InfinitePast();
  absl::Time loaded_at = absl::InfinitePast();  // The time at which it last loaded a window.
  // starved_at is the time at which it last reported that requests wait for its memory or threads.
  // told_starved_at is the time at which the user was last told so.
  absl::Time starved_at = absl::InfinitePast();
  // The time of the first such report since its last rows.
  absl::Time starved_since = absl::InfiniteFuture();
  absl::Time told_starved_at = absl::InfinitePast();
  bool credited = false;  // True once it has sent its credit.
  // The value of heard_at when all its windows were taken away because of its silence.
  absl::Time silent_from = absl::InfiniteFuture();

  // A server that was late gets no new windows until it has answered a probe in time.
  bool slow = false;
  absl::Time tell_slow_at = absl::InfiniteFuture();  // When to tell the user that it is slow.
  bool told_slow = false;                            // The user was told since it became slow.
  absl::Time probe_at = absl::InfiniteFuture();
  absl::Duration penalty = absl::ZeroDuration();  // Wait before the next probe; longer each time.
  RequestEntry* probe = nullptr;                  // The probe in flight.
  uint32_t in_time = 0;                           // Answers in time since it was last penalised.
  bool isolated = false;                          // True if it is kept free for one suspect window.

  IndexedHeap<WindowEntry> to_open;  // Windows placed here and not opened yet, ordered by need.
  // Windows open here with rows worth a request, ordered by need.
  IndexedHeap<WindowEntry> eligible;
  bool pump = false;  // True if it is in the Fetcher's list of servers to look at.
  // Its place in the timers, ordered by the latest time to check it.
  HeapPlace<ServerEntry> queued;
  ServerCounts counted;

  // Notes an open window without requests; see WindowEntry::IdleOrder().
  void NoteIdle(std::pair<bool, uint64_t> order) { last_idle = std::max(last_idle, order); }
  // The address as messages name it: "local" for "local:", the engine in this process.
  absl::string_view shown_address() const { return absl::StripSuffix(address, ":"); }
  // When it last sent anything, or last reported that requests wait.
  absl::Time alive_at() const { return std::max(heard_at, starved_at); }
  bool has_stream() const {
    return state == ServerState::kConnecting || state == ServerState::kUp ||
           state == ServerState::kDraining;
  }
};

// Entries do not move. Not thread-safe.
class ServerTable {
 public:
  static constexpr absl::Duration kFirstBackoff = absl::Milliseconds(100);
  static constexpr absl::Duration kMaxBackoff = absl::Seconds(1);
  static constexpr absl::Duration kFirstRefusedWait = absl::Seconds(1);

  // `seed` jitters the backoff, so that ranks do not reconnect at the same moment.
  ServerTable(const std::vector<std::string>& addresses, uint64_t seed);

  // Returns its index: a new one, or the old one of an address that comes back.
  uint32_t Add(const std::string& address);

  size_t size() const { return servers_.size(); }
  ServerEntry& operator[](size_t i) { return servers_[i]; }
  const ServerEntry& operator[](size_t i) const { return servers_[i]; }

  // Returns the entry that has this stream, or null if the stream does not matter any more.
  ServerEntry* Find(StreamId stream);
  StreamId stream(size_t i) const { return {static_cast<uint32_t>(i), servers_[i].generation}; }
  // Whether both are one address, or lead to one process according to their last Hellos. A name may
  // stand for several addresses of one process.
  bool AreOne(size_t i, size_t j) const;

  void SetState(ServerEntry& server, ServerState state);
  // Marks a server that has proved itself, because rows came.
  void MarkProductive(ServerEntry& server);
  // Counts a stream that had its chance to deliver rows and delivered none.
  void MarkBarren(ServerEntry& server);
  // Puts a server into backoff because its stream ended. The wait before the next try is twice the
  // previous wait. Rows reset the wait; Hello does not, because the next request may kill the
  // server.
  void BackOff(ServerEntry& server, absl::Time now, absl::Status reason);
  // Refuses a server until it is tried again. The wait is twice the previous wait, at most
  // `longest`.
  void Refuse(ServerEntry& server, absl::Time now, absl::Duration longest);
  // Returns false if its answers would differ from those of the first server. The caller must then
  // refuse it.
  bool AcceptHello(ServerEntry& server, const ServerInfo& info);

  // Makes the server due at `time` or before.
  void Arm(ServerEntry& server, absl::Time time);
  // Returns a server that is due and disarms it, or null if none is due.
  ServerEntry* TakeDue(absl::Time now);
  // The time at which TakeDue() will return a server; infinite if no server is armed.
  absl::Time NextDue() const;

  bool AnyUp() const { return NumUp() > 0; }
  size_t NumUp() const { return Count(ServerState::kUp); }
  // Whether there is a server that does more than connect and break: its stream has delivered rows,
  // or it has not yet failed to deliver any in time.
  bool AnyUsable() const { return num_usable_ > 0; }
  bool AllSettled() const;
  // Whether a process other than this server's may soon be up, or in time again.
  bool AnotherMayCome(const ServerEntry& server) const;
  // Whether the set has servers, and all of them refuse.
  bool AllRefused() const;
  // Whether a server is refused for this reason.
  bool AnyRefusedFor(Refusal refusal) const;
  // The last error of the first server that refuses; OK if none does.
  absl::Status FirstRefusal() const;
  // Returns its last error: "10.0.0.1:7070: connection refused".
  static std::string Reason(const ServerEntry& server);
  // Returns the Reason() of every server of the set: "10.0.0.1:7070: connection refused;
  // 10.0.0.2:7070: no answer yet".
  std::string Reasons() const;

 private:
  size_t Count(ServerState state) const { return counts_[static_cast<size_t>(state)]; }
  void CountUsable(ServerEntry& server);

  std::deque<ServerEntry> servers_;
  std::map<std::string, uint32_t> index_;  // Server indexes, keyed by address.
  IndexedHeap<ServerEntry> timers_;        // Servers, ordered by the time to check them.
  std::array<size_t, 6> counts_ = {};      // Number of servers in each state.
  size_t num_usable_ = 0;
  CounterRng rng_;
  struct Decoder {
    std::string address;
    uint32_t version;
    uint64_t fingerprint;
  };
  std::optional<Decoder> decoder_;  // Taken from the first Hello of any server.
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_SERVER_TABLE_H_
