// The source of a training's batches: the loader, or a test's memory.
#ifndef PENSTOCK_TRAINER_INPUT_INPUT_H_
#define PENSTOCK_TRAINER_INPUT_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/loader/tensor_view.h"

namespace penstock {

// Borrows its tensors from the input as long as copies of `memory` exist; if `memory` is null,
// until the next call of Next(). Must not outlive the input.
struct InputBatch {
  std::shared_ptr<const void> memory = nullptr;
  size_t rows = 0;
  size_t global_rows = 0;       // Rows of all ranks together; 0 means that this rank has all rows.
  uint64_t first_position = 0;  // Position of the batch's first row in the epoch.
  std::string cursor = {};      // Position to resume from once this batch is applied.
  std::vector<TensorView> tensors = {};
  // Manifest-wide numbers of the rows' records; empty if the input does not know them.
  std::span<const uint64_t> record_ids = {};

  const TensorView* tensor(absl::string_view name) const {
    for (const TensorView& tensor : tensors) {
      if (tensor.name == name) return &tensor;
    }
    return nullptr;
  }
};

// A server's work for this input so far.
struct InputServer {
  std::string address;
  uint64_t parts = 0;
  uint64_t requests_in_flight = 0;
  uint64_t lost_requests = 0;
};

// One thread may call Next(). Close() and servers() may be called at the same time.
class Input {
 public:
  virtual ~Input() = default;
  // Returns true if `batch` was filled, false at the end. An error ends the input. First releases
  // the previous content of `batch`.
  virtual absl::StatusOr<bool> Next(InputBatch& batch) = 0;
  // Whether Next() would return at once: with a batch that outlives the next call, with the end,
  // with an error, or because the input is closed. Call it on the thread that calls Next().
  virtual bool Ready() const { return false; }
  // Ends a blocked Next() with kCancelled.
  virtual void Close() {}
  virtual std::vector<InputServer> servers() const { return {}; }
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_INPUT_INPUT_H_
