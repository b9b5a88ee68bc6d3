// What Program::Compile() leaves for Program::DecodeRows().
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

// `column` is an index into features().
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

// A value that the tensor's dtype does not hold exactly is a failure.
struct IntegersStep {
  size_t column = 0;
  size_t count = 0;
};

// The feature's own bytes, from `first` on.
struct CopyStep {
  size_t column = 0;
  size_t first = 0;
};

// The same, with their axes moved.
struct TransposeStep {
  size_t column = 0;
  size_t first = 0;
  ByteTranspose transpose;
};

// One byte as an i64. `add` leaves any byte an int64.
struct ByteStep {
  size_t column = 0;
  size_t byte = 0;
  int64_t add = 0;
};

// An encoded image to pixels.
struct ImageStep {
  size_t column = 0;
  std::shared_ptr<const ImageOps> ops;
  uint64_t view = 0;
};

// Two variants: std::visit() of more than 11 alternatives goes through a table of functions, which
// costs a fixed step of one number a third of its speed.
using DecodeStep = std::variant<BitsStep, MateScoreStep, FloatsStep, IntegersStep, CopyStep,
                                TransposeStep, ByteStep, VariableStep, ImageStep>;

// Farther into a feature than this the processor's own prefetcher follows.
inline constexpr size_t kMaxFetchBytes = 1024;

// steps[t] fills tensors[t].
struct Program::Plan {
  std::vector<FeatureUse> features;
  // By feature: how much of its place in a row to fetch ahead, at most kMaxFetchBytes.
  std::vector<size_t> fetch_bytes;
  std::vector<size_t> variable_columns;  // Features that rows have an entry for.
  std::vector<TensorInfo> tensors;
  std::vector<DecodeStep> steps;
  size_t row_bytes = 0;
  uint64_t fingerprint = 0;
  ImageUse images = {};
  bool fallible = false;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DECODE_PROGRAM_PLAN_H_
