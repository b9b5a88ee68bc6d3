#include "trainer/backend/device/device_op.h"

namespace penstock {

const char* DeviceOpName(DeviceOpKind kind) {
  switch (kind) {
    case DeviceOpKind::kZero:
      return "zero";
    case DeviceOpKind::kCopy:
      return "copy";
    case DeviceOpKind::kExchange:
      return "exchange";
    case DeviceOpKind::kExpandPacked:
      return "expand packed";
    case DeviceOpKind::kJoinI8:
    case DeviceOpKind::kJoinF32:
      return "join planes";
    case DeviceOpKind::kPatchImages:
      return "patches of images";
    case DeviceOpKind::kLinear:
      return "linear";
    case DeviceOpKind::kLinearGelu:
      return "linear and GELU";
    case DeviceOpKind::kAddPosition:
      return "add position";
    case DeviceOpKind::kLayerNorm:
      return "layer norm";
    case DeviceOpKind::kAttention:
      return "attention";
    case DeviceOpKind::kGelu:
      return "GELU";
    case DeviceOpKind::kMeanPool:
      return "mean";
    case DeviceOpKind::kScore:
      return "score";
    case DeviceOpKind::kDropout:
      return "dropout";
    case DeviceOpKind::kAddResidual:
      return "add residual";
    case DeviceOpKind::kAddLayerNorm:
      return "add residual and layer norm";
    case DeviceOpKind::kClassify:
      return "cross-entropy";
    case DeviceOpKind::kCrossEntropyBackward:
      return "cross-entropy backward";
    case DeviceOpKind::kScoreBackward:
      return "score backward";
    case DeviceOpKind::kMeanPoolBackward:
      return "mean backward";
    case DeviceOpKind::kGeluBackward:
      return "GELU backward";
    case DeviceOpKind::kAttentionBackward:
      return "attention backward";
    case DeviceOpKind::kLayerNormBackward:
      return "layer norm backward";
    case DeviceOpKind::kColumnSums:
      return "column sums";
    case DeviceOpKind::kLinearBackwardInput:
      return "linear backward by input";
    case DeviceOpKind::kLinearBackwardGelu:
      return "linear backward by input and GELU backward";
    case DeviceOpKind::kLinearBackwardWeight:
      return "linear backward by weight";
    case DeviceOpKind::kNarrowLinear:
      return "narrow linear";
    case DeviceOpKind::kNarrowBackwardInput:
      return "narrow linear backward by input";
    case DeviceOpKind::kNarrowBackwardWeight:
      return "narrow linear backward by weight";
    case DeviceOpKind::kAdd:
      return "add gradients";
    case DeviceOpKind::kNarrow:
      return "to 16 bits";
    case DeviceOpKind::kWiden:
      return "from 16 bits";
    case DeviceOpKind::kGradientNorm:
      return "gradient norm";
    case DeviceOpKind::kAdamw:
      return "AdamW";
  }
  return "unknown";
}

}  // namespace penstock
