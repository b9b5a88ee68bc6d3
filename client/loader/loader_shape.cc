#include "client/loader/loader_shape.h"

#include <algorithm>

#include "base/status.h"
#include "client/loader/loader_plan.h"
#include "client/loader/slot_layout.h"

namespace penstock {

absl::StatusOr<LoaderShape> DescribeLoader(const LoaderOptions& options) {
  PENSTOCK_ASSIGN_OR_RETURN(const LoaderParts parts, MakeParts(options));
  const auto& [plan, steps, program] = parts;
  const SlotLayout layout(program, options.record_ids, steps.max_rank_rows());
  LoaderShape shape = {.tensors = {layout.tensors().begin(), layout.tensors().end()},
                       .slot_bytes = std::max<size_t>(layout.slot_bytes(), 1),
                       .max_rows = layout.max_rows(),
                       .order_fingerprint = plan.fingerprint(),
                       .epoch_rows = plan.rows(),
                       .steps = steps};
  for (size_t i = 0; i < shape.tensors.size(); ++i) shape.offsets.push_back(layout.offset(i));
  if (options.record_ids) shape.record_ids_offset = layout.offset(shape.tensors.size());
  shape.slots = NumSlotsOf(options, shape.slot_bytes, steps);
  return shape;
}

}  // namespace penstock
