#include "trainer/step/fuse_gelu.h"

#include <utility>

namespace penstock {
namespace {

bool IsPair(const Op& linear, const Op& gelu) {
  return linear.kind == OpKind::kLinear && linear.operands.size() == 4 &&
         gelu.kind == OpKind::kGelu && gelu.operands[0].buffer == linear.operands[3].buffer;
}

}  // namespace

void FuseGelu(StepProgram& program) {
  std::vector<Op> ops;
  for (size_t i = 0; i < program.ops.size(); ++i) {
    Op op = std::move(program.ops[i]);
    if (i + 1 < program.ops.size() && IsPair(op, program.ops[i + 1])) {
      op.kind = OpKind::kLinearGelu;
      op.operands.push_back(program.ops[++i].operands[1]);
    }
    ops.push_back(std::move(op));
  }
  program.ops = std::move(ops);
}

}  // namespace penstock
