// The commands that a FetchController gives.
#ifndef PENSTOCK_CLIENT_FETCH_FETCH_ACTIONS_H_
#define PENSTOCK_CLIENT_FETCH_FETCH_ACTIONS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "client/plan/epoch_order.h"
#include "client/plan/steps.h"
#include "records/engine/messages.h"

namespace penstock {

// A connection to a server. `generation` distinguishes it from earlier and later ones.
struct StreamId {
  // Index of the server. An address keeps its index for ever, even while it is not in the set.
  uint32_t server = 0;
  uint32_t generation = 0;

  friend bool operator==(const StreamId&, const StreamId&) = default;
};

// Rows of a part that go to consecutive rows of a slot.
struct RowCopy {
  uint32_t part_row = 0;
  uint32_t rows = 0;
  uint32_t slot = 0;
  uint32_t slot_row = 0;
};

// A batch whose rows have all arrived.
struct ReadyStep {
  uint64_t index = 0;  // Number of the step, from 0 since the controller was made.
  uint32_t slot = 0;
  Step step;
};

// A request to a server to open window `number`.
struct WindowRequest {
  uint64_t number = 0;
  WindowId id;
  // The order of epoch id.epoch; shared with the controller.
  std::shared_ptr<const EpochOrder> order;
  uint64_t needed_at = 0;
  // All records of this job that servers agreed are damaged. Ignore those that are neither in the
  // window's chunks nor in its spare. Valid during the call.
  std::span<const Damage> damaged = {};
  // The chunk whose first good record replaces all rows if the window has no good record.
  std::optional<uint32_t> spare = std::nullopt;
};

struct FetchRequest {
  uint64_t request = 0;
  uint64_t window = 0;
  uint32_t first_row = 0;
  uint32_t rows = 0;
  uint32_t stride = 0;
  uint32_t count = 1;
  uint64_t needed_at = 0;
};

// The controller calls these during its own calls, in the order in which things must happen. They
// must not call the controller. CommandBuffer keeps the calls until the controller has returned.
class FetchActions {
 public:
  virtual void OpenStream(StreamId stream, const std::string& address) = 0;
  virtual void CloseStream(StreamId stream) = 0;
  virtual void OpenWindow(StreamId stream, const WindowRequest& window) = 0;
  virtual void ReleaseWindow(StreamId stream, uint64_t window) = 0;
  virtual void Fetch(StreamId stream, const FetchRequest& fetch) = 0;
  // Cancels a request: its answer would be dropped, so the server need not produce it.
  virtual void Cancel(StreamId stream, uint64_t request) = 0;
  virtual void Deliver(const ReadyStep& step) = 0;
  // Ends the job, because every step was delivered.
  virtual void Finish() = 0;
  // Ends the job, because it failed. Only calls of CloseStream() follow.
  virtual void Fail(absl::Status status) = 0;
  // Names chunks of the manifest in a message.
  virtual std::string NameChunks(std::span<const uint32_t> chunks) const {
    return absl::StrJoin(chunks, ", ");
  }
  // Reports one line that an operator should see. Called rarely.
  virtual void Report(absl::string_view) {}

 protected:
  ~FetchActions() = default;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_FETCH_ACTIONS_H_
