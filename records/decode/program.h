// A decode spec that was checked and can convert rows of features to rows of tensors.
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

// Raised if the same spec and the same bytes would give other bits. It is part of every
// fingerprint.
inline constexpr uint32_t kDecoderVersion = 1;

// An output: rows of `shape`, row-major, little-endian. An empty shape means a scalar.
struct TensorInfo {
  std::string name;  // With kPacked, the name of a feature; it may have any character.
  Dtype dtype = Dtype::kU8;
  std::vector<uint32_t> shape;
  size_t row_bytes = 0;
  size_t column = 0;  // Index in features() of the feature that it is made from.
  // Index of the tensor that says how many items of a row are real; the rest is padding. That
  // tensor is i64 [], or [count] for a list of bytes. Unset if there is no such tensor.
  std::optional<size_t> lengths = std::nullopt;
};

// The values of one feature. Those of row i begin at column[i], at any alignment. They are the
// bytes, or the little-endian int64 or float values. For a variable feature, they are its entry
// (variable_entry.h).
using FeatureColumn = const uint8_t* const*;

// The inputs that the image operations of a spec need in addition to the records' bytes.
struct ImageUse {
  bool random = false;          // True if the pixels depend on the augmentation key.
  std::vector<size_t> columns;  // The features with the images, one for each operation.

  // True if there are image operations; DecodeOptions::images is then required.
  bool decodes() const { return !columns.empty(); }
};

// Inputs of programs that decode images.
struct ImageInputs {
  ImageTransform* transform = nullptr;  // Used by the calling thread alone.
  // This key, and the ordinal of the record whose id is record_ids[i], determine the crop and flip
  // of row i (records/format/record_id.h).
  uint64_t augmentation_key = 0;
  std::span<const int64_t> record_ids = {};
  ImageMemory* memory = nullptr;  // For ImageTransform::Apply(); may be null.
};

struct DecodeOptions {
  SimdLevel level = BestSimdLevel();
  Stores stores = Stores::kCached;
  // Number of rows that follow in the columns. They are prefetched for the next call.
  size_t rows_behind = 0;
  // True if the first rows were already prefetched for this call.
  bool fetched = false;
  ImageInputs images = {};
};

struct DecodeCounters {
  // Rows whose mate bit is set and whose score is 0. They get the label of a draw. Not counted with
  // kPacked, because the bits are not examined.
  uint64_t mates_without_sign = 0;
  ImageCounts images;

  DecodeCounters& operator+=(const DecodeCounters& other) {
    mates_without_sign += other.mates_without_sign;
    images += other.images;
    return *this;
  }
};

// The first row that cannot be decoded, counted from the first row of the call, and the reason.
struct DecodeFailure {
  size_t row = 0;
  absl::Status status;
};

struct DecodeOutcome {
  DecodeCounters counters;
  // The images counted in counters.images, by row of the call, in no particular order.
  std::vector<ImageNote> image_notes;
  std::optional<DecodeFailure> failure;
};

// Immutable, cheap to copy; thread-safe.
class Program {
 public:
  // Checks all of `spec` and plans the work. With kPacked, the tensors are the features themselves,
  // in the order in which the spec first uses them.
  // kInvalidArgument: the message names the tensor and the reason.
  // kResourceExhausted: a limit of docs/reference/decode_spec.md is exceeded.
  // kFailedPrecondition: the spec uses fields that this version does not know.
  static absl::StatusOr<Program> Compile(const v1::DecodeSpec& spec, WireDtype wire_dtype);
  // Like the function above, but reuses the tables that other programs of `spec` left in `tables`,
  // and adds to them.
  static absl::StatusOr<Program> Compile(const v1::DecodeSpec& spec, WireDtype wire_dtype,
                                         SpecTables& tables);

  // The distinct features that are needed, in the order of first use. DecodeRows() takes one column
  // for each.
  std::span<const FeatureUse> features() const;
  std::span<const TensorInfo> tensors() const;
  size_t row_bytes() const;  // Bytes of one row of all tensors.
  // Hash of the spec and kDecoderVersion; the same for every wire dtype.
  uint64_t fingerprint() const;
  const ImageUse& images() const;
  // Whether there are features whose values may not fit into a tensor: images, integers of another
  // type, or variable features.
  bool fallible() const;

  // Decodes `n` rows. Row i of tensor t is written to outputs[t] + i * tensors()[t].row_bytes. Rows
  // may be scattered over memory; they are prefetched. The caller must have checked that each
  // record has features() as stated.
  //
  // If the values of a row do not fit into a tensor, the call ends there: the rows before it are
  // written, and the rows after it are unspecified. Allocates only what images need, and the
  // message of a failure.
  // REQUIRES: with images().decodes(), options.images has a transform and the ids of n rows.
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
