// Compiles the decode spec of a stream for the engine.
#ifndef PENSTOCK_RECORDS_ENGINE_DECODING_H_
#define PENSTOCK_RECORDS_ENGINE_DECODING_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "base/dtype.h"
#include "records/decode/program.h"
#include "records/engine/messages.h"
#include "records/engine/strip_use.h"

namespace penstock {

inline constexpr size_t kNumWireDtypes = 5;

// The decoder for the rows of a fetch. Immutable.
struct Decoding {
  Program program;
  size_t row_bytes = 0;  // Bytes of a row, including the record id.
  uint32_t rows_per_part = 0;
  // Number of rows in a block that sessions share; 1 for images. It is 0 if there are no shared
  // blocks, because a row is larger than a block, or because there are too many tensors to lend
  // pieces of.
  uint32_t block_rows = 0;
  // Statistics of these blocks. Shared with them.
  std::shared_ptr<StripUse> use = {};
};

// The decodings of a spec by WireDtype.
class Decodings {
 public:
  // Returns kInvalidArgument if the spec is invalid, or if a row does not fit into a part with any
  // dtype. Other errors are those of Program::Compile(), but kResourceExhausted becomes
  // kInvalidArgument, because a limit of the spec is permanent.
  static absl::StatusOr<Decodings> Compile(const StreamOptions& options);

  // kInvalidArgument: the spec does not allow the dtype, or a row is larger than a part.
  const absl::StatusOr<Decoding>& For(WireDtype dtype) const {
    return by_dtype_[static_cast<size_t>(dtype)];
  }
  // The following are the same for all dtypes.
  std::span<const FeatureUse> features() const { return Any().program.features(); }
  uint64_t fingerprint() const { return Any().program.fingerprint(); }
  const ImageUse& images() const { return Any().program.images(); }
  // Whether rows that cannot be decoded are replaced, and there may be such rows.
  bool replaces() const { return replaces_; }
  // Approximate memory use in bytes.
  uint64_t bytes() const { return bytes_; }

 private:
  Decodings() = default;
  const Decoding& Any() const { return *by_dtype_[any_]; }

  std::array<absl::StatusOr<Decoding>, kNumWireDtypes + 1> by_dtype_;  // Index: WireDtype, from 1.
  size_t any_ = 0;
  uint64_t bytes_ = 0;
  bool replaces_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_DECODING_H_
