// The queue of connections that wait for a place among those that gRPC has.
#ifndef PENSTOCK_SERVER_GUARD_WAITING_ROOM_H_
#define PENSTOCK_SERVER_GUARD_WAITING_ROOM_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/io/unique_fd.h"
#include "server/guard/account_book.h"
#include "server/guard/watched_socket.h"

namespace penstock {

// A connection, its peer, and where to hand it over.
struct Arrival {
  UniqueFd connection;
  PeerName name;
  std::shared_ptr<AccountBook> accounts;  // The accounts of its port.
  std::function<void(UniqueFd connection)> hand_over;
};

// Hosts take turns, so that one with many connections does not keep others waiting. A host's newest
// and oldest connections are taken alternately: the newest because old connections usually only
// hold a place, and the oldest so that none waits for ever when many come at once. Reads nothing.
// Thread-compatible.
class WaitingRoom {
 public:
  explicit WaitingRoom(size_t most) : most_(most) {}

  // Adds a connection. Returns false if there were too many. Then it has closed the oldest one of
  // the host with the most.
  bool Add(Arrival arrival);
  // Returns the next connection whose host has a place. Closes those whose peer is gone.
  std::optional<Arrival> TakeTurn(const std::function<bool(const std::string& host)>& has_place);

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  void Clear();

 private:
  using Hosts = std::map<std::string, std::deque<Arrival>>;

  Arrival Take(std::deque<Arrival>& of_host);
  Hosts::iterator NextHost(const std::function<bool(const std::string& host)>& has_place);
  void NoteTurn(const std::string& host);

  const size_t most_;
  size_t size_ = 0;
  Hosts hosts_;  // Each queue begins with its oldest connection. No queue is empty.
  bool takes_newest_ = false;
  uint64_t num_turns_ = 0;
  std::map<std::string, uint64_t> last_turns_;  // The last turn of each host that had one recently.
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_GUARD_WAITING_ROOM_H_
