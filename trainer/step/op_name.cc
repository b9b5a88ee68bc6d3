#include "trainer/step/op_name.h"

namespace penstock {

const char* OpName(OpKind kind) {
  switch (kind) {
    case OpKind::kExpandPacked:
      return "expand packed";
    case OpKind::kJoinI8:
    case OpKind::kJoinF32:
      return "join planes";
    case OpKind::kPatchImages:
      return "patches of images";
    case OpKind::kLinear:
      return "linear";
    case OpKind::kLinearGelu:
      return "linear and GELU";
    case OpKind::kAddPosition:
      return "add position";
    case OpKind::kLayerNorm:
      return "layer norm";
    case OpKind::kAttention:
      return "attention";
    case OpKind::kGelu:
      return "GELU";
    case OpKind::kMeanPool:
      return "mean";
    case OpKind::kTanh:
      return "tanh";
    case OpKind::kDropout:
      return "dropout";
    case OpKind::kAddResidual:
      return "add residual";
    case OpKind::kAddLayerNorm:
      return "add residual and layer norm";
    case OpKind::kClassify:
      return "cross-entropy";
    case OpKind::kSquaredErrorBackward:
      return "squared error backward";
    case OpKind::kTanhBackward:
      return "tanh backward";
    case OpKind::kCrossEntropyBackward:
      return "cross-entropy backward";
    case OpKind::kMeanPoolBackward:
      return "mean backward";
    case OpKind::kGeluBackward:
      return "GELU backward";
    case OpKind::kAttentionBackward:
      return "attention backward";
    case OpKind::kLayerNormBackward:
      return "layer norm backward";
    case OpKind::kAddPositionBackward:
      return "add position backward";
    case OpKind::kLinearBackwardInput:
      return "linear backward by input";
    case OpKind::kLinearBackwardGelu:
      return "linear backward by input and GELU backward";
    case OpKind::kLinearBackwardWeight:
      return "linear backward by weight";
    case OpKind::kAddGradients:
      return "add gradients";
    case OpKind::kGradientNorm:
      return "gradient norm";
    case OpKind::kAdamw:
      return "AdamW";
  }
  return "unknown";
}

}  // namespace penstock
