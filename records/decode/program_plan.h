// The plan that Program::Compile() makes for Program::DecodeRows().
#ifndef PENSTOCK_RECORDS_DECODE_PROGRAM_PLAN_H_
#define PENSTOCK_RECORDS_DECODE_PROGRAM_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "records/decode/bit_table.h"
#include "records/decode/byte_transpose.h"
#include "records/decode/program.h"
#include "records/decode/score.h"
#include "records/decode/variable_steps.h"
#include "records/image/image_ops.h"

namespace penstock {

// In every step, `column` is an index into features().
struct BitsStep {
  size_t column = 0;
  std::shared_ptr<const BitTable> table;  // Shared by the programs of the spec.
};

struct MateScoreStep {
  size_t column = 0;
  size_t mate_column = 0;
  uint32_t mate_bit = 0;
  MateScoreParams params;
};

struct FloatsStep {
  size_t column = 0;
  size_t count = 0;
};

// Fails if the tensor's dtype cannot hold a value exactly.
struct IntegersStep {
  size_t column = 0;
  size_t count = 0;
};

// Copies the bytes of the feature, from `first` on.
struct CopyStep {
  size_t column = 0;
  size_t first = 0;
};

// Like CopyStep, but with the axes transposed.
struct TransposeStep {
  size_t column = 0;
  size_t first = 0;
  ByteTranspose transpose;
};

// Converts one byte to an i64. No sum with `add` overflows.
struct ByteStep {
  size_t column = 0;
  size_t byte = 0;
  int64_t add = 0;
};

// Decodes an image to pixels.
struct ImageStep {
  size_t column = 0;
  std::shared_ptr<const ImageOps> ops;
  uint64_t view = 0;
};

// There are two nested variants, because std::visit() of more than 11 alternatives uses a table of
// functions. That slows down a fixed step of one number by a third.
using DecodeStep = std::variant<BitsStep, MateScoreStep, FloatsStep, IntegersStep, CopyStep,
                                TransposeStep, ByteStep, VariableStep, ImageStep>;

// Beyond this many bytes of a feature, the processor's own prefetcher takes over.
inline constexpr size_t kMaxFetchBytes = 1024;

// steps[t] fills tensors[t].
struct Program::Plan {
  std::vector<FeatureUse> features;
  // For each feature, how many bytes of its place in a row to prefetch; at most kMaxFetchBytes.
  std::vector<size_t> fetch_bytes;
  std::vector<size_t> variable_columns;  // Columns of the features that have an entry in each row.
  std::vector<TensorInfo> tensors;
  std::vector<DecodeStep> steps;
  size_t row_bytes = 0;
  uint64_t fingerprint = 0;
  ImageUse images = {};
  bool fallible = false;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DECODE_PROGRAM_PLAN_H_
