// One stream between a simulated rank and a simulated server, as both ends see it.
#ifndef PENSTOCK_CLIENT_FETCH_SIM_SESSION_H_
#define PENSTOCK_CLIENT_FETCH_SIM_SESSION_H_

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "client/fetch/fetch_actions.h"
#include "client/plan/epoch_order.h"
#include "records/engine/messages.h"

namespace penstock::sim {

enum class Direction : uint8_t { kToServer, kToClient };

// A window as one session has it open on its server.
struct OpenedWindow {
  WindowId id;
  uint32_t rows = 0;
  uint64_t needed_at = 0;
  std::vector<Damage> damaged;  // Records that others must replace.
  std::optional<uint32_t> spare;
  bool ready = false;
  std::vector<FetchRequest> waiting;  // Requests that wait for the load.
};

// Shared by both ends and by the messages in flight.
struct Session {
  uint32_t rank = 0;
  uint32_t server = 0;  // Its number in the fleet. stream.server is the client's own number for it.
  StreamId stream;

  bool client_open = true;   // The client listens.
  bool server_open = false;  // The server serves it.
  // When the last message arrives, in each direction. A stream keeps its order, so later messages
  // arrive no sooner.
  std::array<absl::Time, 2> last_arrival = {absl::InfinitePast(), absl::InfinitePast()};

  // The server's end:
  std::map<uint64_t, OpenedWindow> windows;
  std::map<uint64_t, uint64_t> requests;  // The window number of each outstanding request.
};

}  // namespace penstock::sim

#endif  // PENSTOCK_CLIENT_FETCH_SIM_SESSION_H_
