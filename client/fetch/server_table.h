// What the scheduler knows of each server: whether it can be asked, and when to try again.
#ifndef PENSTOCK_CLIENT_FETCH_SERVER_TABLE_H_
#define PENSTOCK_CLIENT_FETCH_SERVER_TABLE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/fetch/scheduler_actions.h"
#include "records/base/counter_rng.h"
#include "records/engine/messages.h"

namespace penstock {

enum class ServerState : uint8_t {
  kConnecting,
  kUp,
  kDraining,  // Answers what was asked; gets nothing new.
  kBackoff,   // Has no stream until retry_at.
  kRefused,   // Never asked again: its answers would differ.
  kRemoved,   // No longer in the set.
};

struct ServerEntry {
  std::string address;
  ServerState state = ServerState::kBackoff;
  uint32_t generation = 0;
  bool removed = false;  // Not in the set; its stream may still finish what it was asked.
  bool settled = false;  // It said Hello or failed at least once.
  bool known = false;    // It said Hello once, so that its share of the lanes is known.
  uint64_t breaks = 0;   // Streams that ended after Hello.
  absl::Time up_at = absl::InfinitePast();  // When this stream's Hello came.
  bool productive = false;                  // This stream has brought rows.
  absl::Time retry_at = absl::InfinitePast();
  absl::Duration backoff = absl::ZeroDuration();
  absl::Status last_error;
  ServerInfo info;
  uint64_t credit_bytes = 0;
  uint64_t outstanding_bytes = 0;
  uint32_t outstanding_requests = 0;
  // Of its last event, or of the first request after a pause.
  absl::Time heard_at = absl::InfinitePast();

  bool has_stream() const {
    return state == ServerState::kConnecting || state == ServerState::kUp ||
           state == ServerState::kDraining;
  }
};

// Not thread-safe.
class ServerTable {
 public:
  static constexpr absl::Duration kFirstBackoff = absl::Milliseconds(100);
  static constexpr absl::Duration kMaxBackoff = absl::Seconds(1);
  static constexpr absl::Duration kSteady = absl::Seconds(2);

  // `seed` jitters the backoff, so that ranks do not reconnect at the same moment.
  ServerTable(const std::vector<std::string>& addresses, uint64_t seed);

  // Its index: a new one, or the old one of an address that comes back.
  uint32_t Add(const std::string& address);

  size_t size() const { return servers_.size(); }
  ServerEntry& operator[](size_t i) { return servers_[i]; }
  const ServerEntry& operator[](size_t i) const { return servers_[i]; }
  std::vector<ServerEntry>& all() { return servers_; }

  // The entry whose stream this is; null when the stream is no longer of interest.
  ServerEntry* Find(StreamId stream);
  StreamId stream(size_t i) const { return {static_cast<uint32_t>(i), servers_[i].generation}; }

  // Its stream ended: it waits twice as long as the last time before the next try. Rows reset that,
  // Hello does not: a server may die of what it is asked.
  void BackOff(ServerEntry& server, absl::Time now, absl::Status reason);
  // False: its answers would differ from the first server's; it is then refused.
  bool AcceptHello(ServerEntry& server, absl::Time now, const ServerInfo& info);

  bool AnyUp() const { return NumUp() > 0; }
  size_t NumUp() const { return Count(ServerState::kUp); }
  // Whether a server is up that does more than come and go: it has brought rows on its stream, or
  // holds it since kSteady.
  bool AnySteady(absl::Time now) const;
  bool AllSettled() const;
  // There are some, and none may be asked.
  bool AllRefused() const;
  absl::Status FirstRefusal() const;
  // "10.0.0.1:7070: connection refused; 10.0.0.2:7070: no answer yet"
  std::string Reasons() const;

 private:
  size_t Count(ServerState state) const;

  std::vector<ServerEntry> servers_;
  std::map<std::string, uint32_t> index_;  // By address.
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
