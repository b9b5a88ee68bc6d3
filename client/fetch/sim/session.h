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
  std::vector<Damage> damaged;  // Records to be replaced.
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
  // A stream keeps its order: nothing overtakes what was sent before.
  std::array<absl::Time, 2> last_arrival = {absl::InfinitePast(), absl::InfinitePast()};

  // The server's end:
  std::map<uint64_t, OpenedWindow> windows;
  std::map<uint64_t, uint64_t> requests;  // Outstanding requests, with their windows.
};

}  // namespace penstock::sim

#endif  // PENSTOCK_CLIENT_FETCH_SIM_SESSION_H_
