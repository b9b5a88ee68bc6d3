// A checked decode spec, ready to turn rows of features into rows of tensors.
#ifndef PENSTOCK_RECORDS_DECODE_PROGRAM_H_
#define PENSTOCK_RECORDS_DECODE_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/dtype.h"
#include "base/simd_level.h"
#include "proto/decode_spec.pb.h"
#include "records/decode/bits.h"
#include "records/decode/spec_tables.h"
#include "records/format/feature_use.h"
#include "records/image/image_note.h"

namespace penstock {

class ImageMemory;
class ImageTransform;

// Raised when the same spec and the same bytes would give other bits. Part of every fingerprint.
inline constexpr uint32_t kDecoderVersion = 1;

// One output: rows of `shape` (empty: a scalar), row-major, little-endian.
struct TensorInfo {
  std::string name;  // With kPacked a feature's name, which may hold any character.
  Dtype dtype = Dtype::kU8;
  std::vector<uint32_t> shape;
  size_t row_bytes = 0;
  size_t column = 0;  // The index in features() of the feature that it is made from.
  // Which of the tensors says how many items of a row are real, the rest being padding: i64 [], or
  // [count] for a list of bytes. Absent: none does.
  std::optional<size_t> lengths = std::nullopt;
};

// Row i's values of one feature start at column[i], at any alignment: the bytes, or the int64 or
// float values in little-endian order; of a variable feature its entry (variable_entry.h).
using FeatureColumn = const uint8_t* const*;

// The needs of a spec's image operations beside the records' bytes.
struct ImageUse {
  bool random = false;          // Their pixels depend on the augmentation key.
  std::vector<size_t> columns;  // The features that hold them, one for each operation.

  // There are some: DecodeOptions::images.
  bool decodes() const { return !columns.empty(); }
};

// For programs that decode images.
struct ImageInputs {
  ImageTransform* transform = nullptr;  // Of the calling thread.
  // The crop and the flip of row i follow from this key and the ordinal of the record whose id is
  // record_ids[i] (records/format/record_id.h).
  uint64_t augmentation_key = 0;
  std::span<const int64_t> record_ids = {};
  ImageMemory* memory = nullptr;  // As ImageTransform::Apply() has it.
};

struct DecodeOptions {
  SimdLevel level = BestSimdLevel();
  Stores stores = Stores::kCached;
  // The columns go on for so many rows, which are fetched for the next call.
  size_t rows_behind = 0;
  // The first rows were fetched for this call.
  bool fetched = false;
  ImageInputs images = {};
};

struct DecodeCounters {
  // Rows whose mate bit is set and whose score is 0: they become a draw's label. Not counted by
  // kPacked, where nobody looks at the bits.
  uint64_t mates_without_sign = 0;
  ImageCounts images;

  DecodeCounters& operator+=(const DecodeCounters& other) {
    mates_without_sign += other.mates_without_sign;
    images += other.images;
    return *this;
  }
};

// The first row that cannot be decoded, counted from the first one of the call, and why.
struct DecodeFailure {
  size_t row = 0;
  absl::Status status;
};

struct DecodeOutcome {
  DecodeCounters counters;
  // The images that counters.images counts, by row of the call; in no order.
  std::vector<ImageNote> image_notes;
  std::optional<DecodeFailure> failure;
};

// Immutable, cheap to copy; thread-safe.
class Program {
 public:
  // Checks all of `spec` and plans the work. With kPacked the tensors are the features themselves,
  // in the order in which the spec first uses them.
  // kInvalidArgument names the tensor and the reason; kResourceExhausted a limit of
  // docs/reference/decode_spec.md; kFailedPrecondition: the spec uses fields that this version
  // lacks.
  static absl::StatusOr<Program> Compile(const v1::DecodeSpec& spec, WireDtype wire_dtype);
  // The same, with what other programs of `spec` left in `tables`.
  static absl::StatusOr<Program> Compile(const v1::DecodeSpec& spec, WireDtype wire_dtype,
                                         SpecTables& tables);

  // The distinct features needed, in order of first use; DecodeRows() takes a column for each.
  std::span<const FeatureUse> features() const;
  std::span<const TensorInfo> tensors() const;
  size_t row_bytes() const;      // over all tensors
  uint64_t fingerprint() const;  // of the spec and kDecoderVersion, whatever the wire dtype
  const ImageUse& images() const;
  // Whether there are features whose values a tensor may not be able to hold: images, integers as
  // another type, variable ones.
  bool fallible() const;

  // Decodes `n` rows; row i of tensor t goes to outputs[t] + i * tensors()[t].row_bytes. Rows may
  // be scattered over memory: they are fetched ahead. The caller has checked that each record has
  // features() as stated. A row whose values a tensor cannot hold ends the call: the rows before it
  // are written, those behind it are unspecified. Allocates nothing but a failure's message and
  // what images take. REQUIRES: with images().decodes(), options.images has a transform and the
  // ids of n rows.
  DecodeOutcome DecodeRows(std::span<const FeatureColumn> columns, size_t n,
                           std::span<uint8_t* const> outputs,
                           const DecodeOptions& options = {}) const;

  struct Plan;  // program_plan.h

 private:
  explicit Program(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {}

  std::shared_ptr<const Plan> plan_;  // Shared by the copies of a program.
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DECODE_PROGRAM_H_
