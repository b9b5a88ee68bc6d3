// TCP connections between all ranks. Another thread can end the connecting.
#ifndef PENSTOCK_TRAINER_COMM_SOCKET_MESH_H_
#define PENSTOCK_TRAINER_COMM_SOCKET_MESH_H_

#include <poll.h>

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/io/unique_fd.h"
#include "trainer/comm/poll.h"
#include "trainer/comm/rank_info.h"
#include "trainer/comm/store_client.h"

namespace penstock {

// Waits for sockets; the loss of a rank ends the wait. Not thread-safe: one thread waits, and the
// store's callback thread wakes it.
class LossAlarm {
 public:
  // `store` must outlive this object.
  explicit LossAlarm(StoreClient& store);
  ~LossAlarm();

  // Like poll(2): returns true, with `revents` set, or false once `patience` has ended. Errors are
  // those of StoreClient::lost(): once a rank is lost, every call fails.
  absl::StatusOr<bool> Poll(std::vector<pollfd>& sockets, const Patience& patience);

 private:
  StoreClient& store_;
  const UniqueFd event_;
};

// Not thread-safe.
class SocketMesh {
 public:
  // `store` and `alarm` must outlive this object.
  SocketMesh(const RankInfo& info, StoreClient& store, LossAlarm& alarm)
      : info_(info), store_(store), alarm_(alarm), sockets_(info.world_size) {}

  // Connects this rank with every other one; all must call this, once. `host` is a numeric address
  // of this host. kUnavailable: a rank was lost or cannot be reached; the message names it.
  // kDeadlineExceeded: a rank did not come within `timeout`, which applies anew to each rank's
  // address and to each rank's connection.
  absl::Status Connect(const std::string& host, absl::Duration timeout);

  // The sockets of all other ranks, indexed by rank. They do not block.
  std::vector<UniqueFd> TakeSockets() { return std::move(sockets_); }

 private:
  absl::Status ConnectTo(uint32_t peer, absl::Duration timeout);
  absl::Status AwaitPeer(uint32_t peer, absl::Duration timeout);
  absl::Status Accept();
  void Meet(UniqueFd connection);

  const RankInfo info_;
  StoreClient& store_;
  LossAlarm& alarm_;
  UniqueFd listener_;
  std::vector<UniqueFd> silent_;   // Connections that are accepted, but not identified yet.
  std::array<uint8_t, 16> token_;  // A connecting rank must know it from the store.
  std::vector<UniqueFd> sockets_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_COMM_SOCKET_MESH_H_
