// A training step as data: the operations, their memory and their order. Backends execute the list;
// none decides what a step is.
#ifndef PENSTOCK_TRAINER_STEP_PROGRAM_H_
#define PENSTOCK_TRAINER_STEP_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/numeric/counter_random.h"
#include "kernels/reference/activation.h"
#include "kernels/reference/images.h"

namespace penstock {

// The memory that buffers are ranges of. Elements are floats in the backend's precision, except in
// kInput and kFlags, where they have the wire dtype.
enum class Arena : uint8_t {
  kParameters,
  kGradients,    // Gradients of one shard; in an update program, of all shards in turn.
  kMoments,      // AdamW's m, then v.
  kActivations,  // Reused within a block as live ranges allow.
  kScalars,
  kInput,  // Packed records, planes or pixels.
  kFlags,
  kTargets,
  kPredictions,
};

using BufferId = uint32_t;

// The range [offset, offset + size) of an arena, in elements. Sizes are for the program's own
// number of rows. A block of fewer rows uses the beginning of each buffer that grows with the rows.
struct Buffer {
  std::string name;
  Arena arena;
  size_t offset = 0;
  size_t size = 0;
};

enum class Access : uint8_t { kRead, kWrite, kReadWrite };

struct Operand {
  BufferId buffer;
  Access access;
};

// Operands in order: r is read, w is written, rw is both.
enum class OpKind : uint8_t {
  kExpandPacked,  // r packed, w features
  kJoinI8,        // r planes, r flags, w features
  kJoinF32,       // r planes, r flags, w features
  kPatchImages,   // r images, w features: each patch's pixels, normalised

  kLinear,       // r x, r weight, r bias, w y [, r residual]
  kLinearGelu,   // r x, r weight, r bias, w before, w y: a linear layer and its GELU
  kAddPosition,  // r position, rw x
  kLayerNorm,    // r x, r gain, r offset, w y, w mean, w rstd
  kAttention,    // r qkv, w y [, r bias]
  kGelu,         // r x, w y
  kMeanPool,     // r x, w y
  kTanh,         // r x, w y
  kDropout,      // r x, w y: with dy as x, it is its own backward; a copy if the rate is zero
  kAddResidual,  // r x, rw y
  // r x, rw sum, r gain, r offset, w y, w mean, w rstd: kAddResidual and the norm of its sum
  kAddLayerNorm,
  kClassify,  // r logits, r target, w results: a row's loss, and the classes ahead of its target

  kSquaredErrorBackward,  // r prediction, r target, w dprediction
  kTanhBackward,          // r y, rw dy
  kCrossEntropyBackward,  // r logits, r target, w dlogits
  kMeanPoolBackward,      // r dy, w dx
  kGeluBackward,          // r x, rw dy
  kAttentionBackward,     // r qkv, r dy, w dqkv [, r bias, rw dbias]
  kLayerNormBackward,     // r dy, r x, r gain, r mean, r rstd, w or rw dx, rw dgain, rw doffset
  kAddPositionBackward,   // r dx, rw dposition
  kLinearBackwardInput,   // r dy, r weight, w dx
  kLinearBackwardGelu,    // r dy, r weight, r before, w dbefore: input gradient and GELU's backward
  kLinearBackwardWeight,  // r dy, r x, rw dweight, rw dbias

  kAddGradients,  // rw sum, r addend
  kGradientNorm,  // r gradient, w norm
  kAdamw,         // r gradient, r norm, rw parameters, rw m, rw v
};

// Sizes and options of an operation; zero if they do not apply.
struct OpShape {
  size_t rows_per_sample = 0;  // Rows of the matrices: one per token, or 1.
  // Columns of the matrices, including padding. For linear operations these are the columns of x,
  // forward and backward. For attention these are the columns of all heads side by side, a third of
  // qkv's. For kTanh, kSquaredErrorBackward and kTanhBackward this is 1, the score.
  size_t in = 0;
  // For linear operations, the columns of y. For kTanh, kSquaredErrorBackward and kTanhBackward,
  // the columns of a row of scores, all but the first of which are padding; the references accept
  // only 1.
  size_t out = 0;
  size_t heads = 0;                   // For attention: number of heads.
  size_t patch = 0;                   // For kPatchImages: side of a patch, in pixels.
  reference::PixelScale pixels = {};  // For kPatchImages: scales of the channels.
  // For kClassify and kCrossEntropyBackward: columns of logits, excluding padding.
  size_t classes = 0;
  float epsilon = 0;  // For norms: the epsilon of the variance.
  // For kGelu and kGeluBackward. A GELU fused with a linear operation has the tanh form.
  reference::GeluForm gelu = reference::GeluForm::kTanh;
  Dropout dropout = {};  // Dropout of attention's probabilities, or of all values of kDropout.
  uint32_t site = 0;     // Number of the dropout site in the program.
};

struct Op {
  OpKind kind;
  OpShape shape;
  std::vector<Operand> operands;
  std::vector<uint32_t> after;  // Earlier operations that must have finished; ascending.
};

// Executing the operations in list order is always valid.
struct StepProgram {
  size_t rows = 0;  // Most samples in a block.
  std::vector<Buffer> buffers;
  std::vector<Op> ops;
  size_t activation_size = 0;  // Number of elements of Arena::kActivations.
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_STEP_PROGRAM_H_
