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
  kDraining,  // Answers what was asked; gets nothing new.
  kBackoff,   // Has no stream until retry_at.
  kRefused,   // Said no, or answers otherwise than others; asked again later.
  kRemoved,   // No longer in the set.
};

// Counted since the server was first named.
struct ServerCounts {
  uint64_t breaks = 0;         // Streams that ended after Hello.
  uint64_t backoffs = 0;       // Times that it was left alone for a while.
  uint64_t lost_requests = 0;  // In flight when its stream ended.
  uint64_t late_requests = 0;  // Missed their deadline.
  uint64_t handed_over = 0;  // Windows taken away from it: it was late or silent, or others joined.
  uint64_t extra_loads = 0;  // Windows given to it that another server had been asked to load.
};

struct ServerEntry {
  std::string address;
  uint32_t index = 0;
  ServerState state = ServerState::kBackoff;
  uint32_t generation = 0;
  bool removed = false;     // Not in the set; its stream may still finish what it was asked.
  bool settled = false;     // It said Hello or failed at least once.
  bool known = false;       // It said Hello once, so that its share of the lanes is known.
  bool productive = false;  // This stream has brought rows.
  bool newcomer = false;    // It came when lanes had been placed, and has brought none yet.
  uint32_t nonsense = 0;    // Streams on which this process answered what was not asked.
  uint32_t barren = 0;      // Streams in a row that said Hello and brought none.
  uint32_t failures = 0;    // Of windows and requests, since rows came.
  absl::Time up_at = absl::InfinitePast();  // When this stream's Hello came.
  bool counts = false;                      // As usable.
  absl::Time retry_at = absl::InfinitePast();
  absl::Duration backoff = absl::ZeroDuration();
  absl::Time drain_by = absl::InfiniteFuture();
  absl::Status last_error;  // Until rows come.
  // Since it was first tried, or lost, until its rows come; and what was told of that.
  absl::Time away_since = absl::InfiniteFuture();
  enum class Told : uint8_t { kNothing, kAway, kRefused } told = Told::kNothing;
  ServerInfo info;
  uint64_t credit_bytes = 0;
  uint64_t outstanding_bytes = 0;
  uint32_t outstanding_requests = 0;
  uint32_t open_windows = 0;
  // No window that is open and asked for nothing is later in IdleOrder().
  std::pair<bool, uint64_t> last_idle = {};
  RequestEntry* first_request = nullptr;
  RequestEntry* last_request = nullptr;
  uint64_t cancelled_rows = 0;  // On this stream; they may still come.
  // The time of its last event, or of the first request after a pause. Repeated credit is no event.
  absl::Time heard_at = absl::InfinitePast();
  absl::Time loaded_at = absl::InfinitePast();  // A window, whichever.
  // It last said that what it was asked for waits for memory there, and the user was last told so.
  absl::Time starved_at = absl::InfinitePast();
  absl::Time starved_since = absl::InfiniteFuture();  // It first said so since its last rows.
  absl::Time told_starved_at = absl::InfinitePast();
  bool credited = false;  // It has said its credit.
  // heard_at, when all was taken away from it for its silence.
  absl::Time silent_from = absl::InfiniteFuture();

  // A server that was late gets no new windows until it has answered a probe in time.
  bool slow = false;
  absl::Time tell_slow_at = absl::InfiniteFuture();  // When the user is to be told of it.
  bool told_slow = false;                            // The user was, since it became slow.
  absl::Time probe_at = absl::InfiniteFuture();
  absl::Duration penalty = absl::ZeroDuration();  // Until a probe; each time longer.
  RequestEntry* probe = nullptr;                  // On its way.
  uint32_t in_time = 0;                           // Answers, since it was late.
  bool isolated = false;                          // Kept free for one window that is suspect.

  IndexedHeap<WindowEntry> to_open;   // Placed here, not opened yet; by need.
  IndexedHeap<WindowEntry> eligible;  // Opened here, with rows worth a request; by need.
  bool pump = false;                  // It is in the controller's list of those to look at.
  HeapPlace<ServerEntry> queued;      // By when to look at it in any case.
  ServerCounts counted;

  // It has a window open that is asked for nothing; see WindowEntry::IdleOrder().
  void NoteIdle(std::pair<bool, uint64_t> order) { last_idle = std::max(last_idle, order); }
  // The address as messages name it: "local" for "local:", the engine in this process.
  absl::string_view shown_address() const { return absl::StripSuffix(address, ":"); }
  // When it last did something, or said that it waits for memory.
  absl::Time alive_at() const { return std::max(heard_at, starved_at); }
  bool has_stream() const {
    return state == ServerState::kConnecting || state == ServerState::kUp ||
           state == ServerState::kDraining;
  }
};

// Entries stay where they are. Not thread-safe.
class ServerTable {
 public:
  static constexpr absl::Duration kFirstBackoff = absl::Milliseconds(100);
  static constexpr absl::Duration kMaxBackoff = absl::Seconds(1);

  // `seed` jitters the backoff, so that ranks do not reconnect at the same moment.
  ServerTable(const std::vector<std::string>& addresses, uint64_t seed);

  // Its index: a new one, or the old one of an address that comes back.
  uint32_t Add(const std::string& address);

  size_t size() const { return servers_.size(); }
  ServerEntry& operator[](size_t i) { return servers_[i]; }
  const ServerEntry& operator[](size_t i) const { return servers_[i]; }

  // The entry whose stream this is; null when the stream is no longer of interest.
  ServerEntry* Find(StreamId stream);
  StreamId stream(size_t i) const { return {static_cast<uint32_t>(i), servers_[i].generation}; }
  // Whether they are one address, or lead to one process as their last Hellos say: a name may stand
  // for several addresses of it.
  bool AreOne(size_t i, size_t j) const;

  void SetState(ServerEntry& server, ServerState state);
  // Rows came: it need not prove itself any more.
  void MarkProductive(ServerEntry& server);
  // It had its chance to bring rows.
  void MarkBarren(ServerEntry& server);
  // Its stream ended: it waits twice as long as the last time before the next try. Rows reset that,
  // Hello does not: a server may die of what it is asked.
  void BackOff(ServerEntry& server, absl::Time now, absl::Status reason);
  // False: its answers would differ from the first server's; it is then refused.
  bool AcceptHello(ServerEntry& server, const ServerInfo& info);

  // The server is to be looked at, at `time` or before.
  void Arm(ServerEntry& server, absl::Time time);
  // A server whose time has come; it is armed no more. Null: none.
  ServerEntry* TakeDue(absl::Time now);
  // When TakeDue() has one. Infinite: no server is armed.
  absl::Time NextDue() const;

  bool AnyUp() const { return NumUp() > 0; }
  size_t NumUp() const { return Count(ServerState::kUp); }
  // Whether a server is there that does more than come and go: its stream has brought rows, or is
  // the first that has to.
  bool AnyUsable() const { return num_usable_ > 0; }
  bool AllSettled() const;
  // Whether another process than this server's may soon be up, or in time, again.
  bool AnotherMayCome(const ServerEntry& server) const;
  // There are some, and none may be asked.
  bool AllRefused() const;
  absl::Status FirstRefusal() const;
  // "10.0.0.1:7070: connection refused": its last error.
  static std::string Reason(const ServerEntry& server);
  // Of all in the set, "10.0.0.1:7070: connection refused; 10.0.0.2:7070: no answer yet".
  std::string Reasons() const;

 private:
  size_t Count(ServerState state) const { return counts_[static_cast<size_t>(state)]; }
  void CountUsable(ServerEntry& server);

  std::deque<ServerEntry> servers_;
  std::map<std::string, uint32_t> index_;  // By address.
  IndexedHeap<ServerEntry> timers_;        // By when to look at them.
  std::array<size_t, 6> counts_ = {};      // By state.
  size_t num_usable_ = 0;
  CounterRng rng_;
  struct Decoder {
    std::string address;
    uint32_t version;
    uint64_t fingerprint;
  };
  std::optional<Decoder> decoder_;  // Of the first server that said Hello.
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_SERVER_TABLE_H_
