// What Program::Compile() leaves for Program::DecodeRows().
#ifndef PENSTOCK_RECORDS_DECODE_PROGRAM_PLAN_H_
#define PENSTOCK_RECORDS_DECODE_PROGRAM_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "records/decode/bit_table.h"
#include "records/decode/program.h"
#include "records/decode/score.h"

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

struct NumberStep {
  size_t column = 0;
  uint32_t count = 0;
  FeatureType type = FeatureType::kInt64;
};

// The feature's own bytes.
struct CopyStep {
  size_t column = 0;
};

using DecodeStep = std::variant<BitsStep, MateScoreStep, NumberStep, CopyStep>;

// steps[t] fills tensors[t].
struct Program::Plan {
  std::vector<FeatureUse> features;
  std::vector<TensorInfo> tensors;
  std::vector<DecodeStep> steps;
  size_t row_bytes = 0;
  uint64_t fingerprint = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DECODE_PROGRAM_PLAN_H_
