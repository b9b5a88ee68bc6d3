// TCP connections between all ranks, whose making can be ended from another thread.
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

// Waiting for sockets that the loss of a rank ends.
// Not thread-safe: one thread waits, whoever the store tells wakes it.
class LossAlarm {
 public:
  // `store` must outlive it.
  explicit LossAlarm(StoreClient& store);
  ~LossAlarm();

  // As poll(2): true, and what `revents` then say, or false once `patience` has ended. As
  // StoreClient::lost(): a rank was lost, from then on always.
  absl::StatusOr<bool> Poll(std::vector<pollfd>& sockets, const Patience& patience);

 private:
  StoreClient& store_;
  const UniqueFd event_;
};

// Not thread-safe.
class SocketMesh {
 public:
  // Both must outlive it.
  SocketMesh(const RankInfo& info, StoreClient& store, LossAlarm& alarm)
      : info_(info), store_(store), alarm_(alarm), sockets_(info.world_size) {}

  // Connects this rank with every other one, which call it too. `host` is a numeric address of this
  // host. kUnavailable: a rank was lost, or cannot be reached, naming it; kDeadlineExceeded: one
  // has not come within `timeout`, which each in turn is granted anew, for its address and for its
  // connection. Once.
  absl::Status Connect(const std::string& host, absl::Duration timeout);

  // Of each rank, but for this one; they do not block.
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
  std::vector<UniqueFd> silent_;   // Accepted; who it is was not said yet.
  std::array<uint8_t, 16> token_;  // Who connects here must know it from the store.
  std::vector<UniqueFd> sockets_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_COMM_SOCKET_MESH_H_
