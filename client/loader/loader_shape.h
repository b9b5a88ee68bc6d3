// Describes what a loader will hand out, before it is opened.
#ifndef PENSTOCK_CLIENT_LOADER_LOADER_SHAPE_H_
#define PENSTOCK_CLIENT_LOADER_LOADER_SHAPE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "client/loader/loader.h"
#include "client/plan/steps.h"
#include "records/decode/program.h"

namespace penstock {

struct LoaderShape {
  std::vector<TensorInfo> tensors;
  std::vector<size_t> offsets = {};  // Offset of each tensor in a slot.
  // Absent unless options.record_ids is set.
  std::optional<size_t> record_ids_offset = std::nullopt;
  size_t slot_bytes = 0;           // At least 1.
  uint32_t slots = 0;              // Number of slots that Loader::Open() would allocate.
  uint64_t max_rows = 0;           // Maximum number of rows in a slot.
  uint64_t order_fingerprint = 0;  // The same as Loader::order_fingerprint().
  uint64_t epoch_rows = 0;         // Number of records of the split.
  Steps steps;                     // The steps from options.start on, ignoring max_steps.
};

// Reads no shard and asks no server. Errors: those of Loader::Open() that only the options and the
// manifest decide.
absl::StatusOr<LoaderShape> DescribeLoader(const LoaderOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_LOADER_SHAPE_H_
