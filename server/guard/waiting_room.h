// Connections that wait for a place among those that gRPC has.
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

// A connection, who made it, and what becomes of it.
struct Arrival {
  UniqueFd connection;
  PeerName name;
  std::shared_ptr<AccountBook> accounts;  // Of the port that it came to.
  std::function<void(UniqueFd connection)> hand_over;
};

// Hosts take turns, so that one that makes many connections does not keep others waiting. Of a host
// it is by turns the newest, for connections that only hold a place are as a rule old, and the
// oldest, so that of many that come at once none waits for ever. Nothing is read.
// Thread-compatible.
class WaitingRoom {
 public:
  explicit WaitingRoom(size_t most) : most_(most) {}

  // False: there were too many, so the oldest of the host that had most was closed.
  bool Add(Arrival arrival);
  // The next one of those whose host has a place. Those whose peer is gone are closed.
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
  Hosts hosts_;  // Oldest first. None is empty.
  bool takes_newest_ = false;
  uint64_t num_turns_ = 0;
  std::map<std::string, uint64_t> last_turns_;  // Of hosts that had one lately.
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_GUARD_WAITING_ROOM_H_
