// Parts of the engine as a client receives them, in recycled objects.
#ifndef PENSTOCK_CLIENT_TRANSPORT_LOCAL_LOCAL_PAYLOAD_H_
#define PENSTOCK_CLIENT_TRANSPORT_LOCAL_LOCAL_PAYLOAD_H_

#include <memory>
#include <vector>

#include "client/transport/transport.h"
#include "records/base/mutex.h"
#include "records/engine/part_buffer.h"

namespace penstock {

// Thread-safe.
class LocalPayloadPool : public std::enable_shared_from_this<LocalPayloadPool> {
 public:
  // Lives until its last payload has been recycled.
  static std::shared_ptr<LocalPayloadPool> Create();

  std::unique_ptr<PartPayload, PartPayloadRecycler> Wrap(PartBuffer part);

 private:
  class Payload;
  LocalPayloadPool() = default;

  Mutex mutex_;
  std::vector<std::unique_ptr<Payload>> free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_TRANSPORT_LOCAL_LOCAL_PAYLOAD_H_
