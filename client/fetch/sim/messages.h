// The messages of a simulated server, and the world that they are sent through.
#ifndef PENSTOCK_CLIENT_FETCH_SIM_MESSAGES_H_
#define PENSTOCK_CLIENT_FETCH_SIM_MESSAGES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/counter_rng.h"
#include "client/fetch/sim/session.h"
#include "records/engine/messages.h"

namespace penstock::sim {

// The content of row `row` of a window. Never 0.
inline uint64_t RowContent(WindowId id, uint32_t row) {
  return DeriveKey(DeriveKey(id.epoch << 32 | id.lane, id.index), row) | 1;
}

// The content of the row if the first good record of a chunk replaces all rows of the window.
inline uint64_t StandInContent(WindowId id, uint32_t row, uint32_t chunk) {
  return DeriveKey(RowContent(id, row), chunk) | 1;
}

struct SaysReady {
  uint64_t window = 0;
};
struct SaysCredit {
  uint64_t bytes = 0;
};
struct SaysDraining {
  absl::Duration grace;
};
struct SaysPart {
  uint64_t request = 0;
  uint32_t first_row = 0;
  uint32_t rows = 0;
  uint64_t bytes = 0;
  std::vector<uint64_t> content;  // RowContent() of each row; empty if nobody checks it.
};

// A status ends the stream.
using Message = std::variant<ServerInfo, SaysCredit, SaysReady, SaysPart, StreamError, SaysDraining,
                             absl::Status>;

// Returns text such as "part of request 7, rows [0, 16)".
std::string ToString(const Message& message);
std::string ToString(WindowId id);

// The world that a server is in, which carries its messages.
class Surroundings {
 public:
  virtual void Tell(const std::shared_ptr<Session>& session, Message message) = 0;
  // The client broke a rule of the protocol.
  virtual void Violate(const std::string& what) = 0;
  virtual bool logs() const = 0;
  virtual void Log(const std::string& line) = 0;

 protected:
  ~Surroundings() = default;
};

}  // namespace penstock::sim

#endif  // PENSTOCK_CLIENT_FETCH_SIM_MESSAGES_H_
