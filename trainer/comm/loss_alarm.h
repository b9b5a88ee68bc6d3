// Waiting for sockets that the loss of a rank ends.
#ifndef PENSTOCK_TRAINER_COMM_LOSS_ALARM_H_
#define PENSTOCK_TRAINER_COMM_LOSS_ALARM_H_

#include <poll.h>

#include <vector>

#include "absl/status/statusor.h"
#include "records/io/unique_fd.h"
#include "trainer/comm/poll.h"
#include "trainer/comm/store_client.h"

namespace penstock {

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

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_COMM_LOSS_ALARM_H_
