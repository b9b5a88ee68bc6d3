#include "client/loader/loader_shape.h"

#include <algorithm>

#include "base/status.h"
#include "client/loader/loader_plan.h"
#include "client/loader/look_ahead.h"
#include "client/loader/slot_layout.h"
#include "records/engine/row_limit.h"

namespace penstock {

absl::StatusOr<LoaderShape> DescribeLoader(const LoaderOptions& options) {
  PENSTOCK_RETURN_IF_ERROR(options.Validate());
  PENSTOCK_ASSIGN_OR_RETURN(const Plan plan, MakePlan(options));
  PENSTOCK_ASSIGN_OR_RETURN(const Steps steps, MakeSteps(options, plan));
  PENSTOCK_ASSIGN_OR_RETURN(const Program program, Program::Compile(options.spec, options.dtype));
  PENSTOCK_RETURN_IF_ERROR(CheckRowSize(program, options.dtype, options.record_ids));
  const SlotLayout layout(program, options.record_ids, steps.max_rank_rows());
  LoaderShape shape = {.tensors = {layout.tensors().begin(), layout.tensors().end()},
                       .slot_bytes = std::max<size_t>(layout.slot_bytes(), 1),
                       .max_rows = layout.max_rows(),
                       .order_fingerprint = plan.fingerprint(),
                       .epoch_rows = plan.rows(),
                       .steps = steps};
  for (size_t i = 0; i < shape.tensors.size(); ++i) shape.offsets.push_back(layout.offset(i));
  if (options.record_ids) shape.record_ids_offset = layout.offset(shape.tensors.size());
  const uint64_t most = options.max_steps > 0 ? options.max_steps : steps.num_steps();
  shape.slots =
      NumSlots(options.look_ahead_bytes, shape.slot_bytes, std::min(most, steps.num_steps()));
  return shape;
}

}  // namespace penstock
