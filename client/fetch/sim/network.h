// Links between ranks and servers: delay, jitter, bandwidth, partitions.
#ifndef PENSTOCK_CLIENT_FETCH_SIM_NETWORK_H_
#define PENSTOCK_CLIENT_FETCH_SIM_NETWORK_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/counter_rng.h"
#include "client/fetch/sim/event_queue.h"
#include "client/fetch/sim/session.h"

namespace penstock::sim {

struct LinkOptions {
  absl::Duration latency = absl::Microseconds(100);  // One-way delay of a message.
  absl::Duration jitter = absl::ZeroDuration();      // A random delay up to this is added.
  // Bytes per second of a server's and of a rank's network card. All streams of a card share them.
  double server_bytes_per_second = 3e9;
  double rank_bytes_per_second = 3e9;
};

// Delivers messages to the other end. Messages of one stream keep their order. Not thread-safe.
class Network {
 public:
  // `queue` must outlive it.
  Network(EventQueue& queue, const LinkOptions& options, uint64_t seed)
      : queue_(queue), options_(options), rng_(seed) {}

  // Runs `arrive` when the message arrives. It never arrives if the link is cut and not healed.
  void Send(Session& session, Direction direction, uint64_t bytes, EventQueue::Action arrive);

  // Cuts the link between the two in this direction. Messages wait, as they do for retransmission.
  void Cut(uint32_t rank, uint32_t server, Direction direction);
  // Heals the link. Messages that wait arrive now.
  void Heal(uint32_t rank, uint32_t server);
  // Whether the link is cut in either direction.
  bool IsCut(uint32_t rank, uint32_t server) const;

  uint64_t bytes_to_clients() const { return bytes_to_clients_; }

 private:
  struct CutLink {
    std::array<bool, 2> cut = {false, false};
    std::vector<EventQueue::Action> waiting;
  };

  absl::Time Transfer(Session& session, uint64_t bytes);
  void Arrive(uint32_t rank, uint32_t server, Direction direction, EventQueue::Action arrive);

  EventQueue& queue_;
  const LinkOptions options_;
  CounterRng rng_;
  uint64_t bytes_to_clients_ = 0;
  // When each card has sent or received everything given to it. The vectors grow on demand.
  std::vector<absl::Time> server_free_, rank_free_;
  std::map<std::pair<uint32_t, uint32_t>, CutLink> cuts_;
};

}  // namespace penstock::sim

#endif  // PENSTOCK_CLIENT_FETCH_SIM_NETWORK_H_
