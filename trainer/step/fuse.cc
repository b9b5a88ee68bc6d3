#include "trainer/step/fuse.h"

#include <utility>

namespace penstock {
namespace {

bool IsPair(const Op& linear, const Op& gelu) {
  return linear.kind == OpKind::kLinear && linear.operands.size() == 4 &&
         gelu.kind == OpKind::kGelu && gelu.shape.gelu == reference::GeluForm::kTanh &&
         gelu.operands[0].buffer == linear.operands[3].buffer;
}

bool IsBackwardPair(const Op& linear, const Op& gelu) {
  return linear.kind == OpKind::kLinearBackwardInput && gelu.kind == OpKind::kGeluBackward &&
         gelu.shape.gelu == reference::GeluForm::kTanh &&
         gelu.operands[1].buffer == linear.operands[2].buffer;
}

bool IsResidualPair(const Op& add, const Op& norm) {
  return add.kind == OpKind::kAddResidual && norm.kind == OpKind::kLayerNorm &&
         norm.operands[0].buffer == add.operands[1].buffer;
}

Op Join(Op linear, const Op& gelu) {
  linear.kind = OpKind::kLinearGelu;
  linear.operands.push_back(gelu.operands[1]);
  return linear;
}

Op JoinBackward(Op linear, const Op& gelu) {
  linear.kind = OpKind::kLinearBackwardGelu;
  linear.operands.insert(linear.operands.begin() + 2, gelu.operands[0]);
  return linear;
}

Op JoinResidual(Op add, const Op& norm) {
  add.kind = OpKind::kAddLayerNorm;
  add.shape = norm.shape;
  add.operands.insert(add.operands.end(), norm.operands.begin() + 1, norm.operands.end());
  return add;
}

void Fuse(StepProgram& program, bool (*is_pair)(const Op&, const Op&),
          Op (*join)(Op op, const Op& next)) {
  std::vector<Op> ops;
  for (size_t i = 0; i < program.ops.size(); ++i) {
    Op op = std::move(program.ops[i]);
    if (i + 1 < program.ops.size() && is_pair(op, program.ops[i + 1])) {
      op = join(std::move(op), program.ops[++i]);
    }
    ops.push_back(std::move(op));
  }
  program.ops = std::move(ops);
}

}  // namespace

void FuseGelu(StepProgram& program) { Fuse(program, IsPair, Join); }

void FuseGeluBackward(StepProgram& program) { Fuse(program, IsBackwardPair, JoinBackward); }

void FuseResidualNorm(StepProgram& program) { Fuse(program, IsResidualPair, JoinResidual); }

}  // namespace penstock
