// A stream's decode spec, compiled for the engine.
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

// What a fetch decodes with. Immutable.
struct Decoding {
  Program program;
  size_t row_bytes = 0;  // Record id included.
  uint32_t rows_per_part = 0;
  // Of blocks that sessions share, of images 1; 0: none are, for a row is larger than a block, or
  // there are too many tensors to lend pieces of.
  uint32_t block_rows = 0;
  // Of these blocks. Shared with them.
  std::shared_ptr<StripUse> use = {};
};

// By WireDtype; kInvalidArgument where the dtype cannot be, or a row is larger than a part.
class Decodings {
 public:
  // kInvalidArgument: the spec, or no dtype makes a row fit in a part. Further errors as
  // Program::Compile(), but a limit is kInvalidArgument: it does not pass.
  static absl::StatusOr<Decodings> Compile(const StreamOptions& options);

  const absl::StatusOr<Decoding>& For(WireDtype dtype) const {
    return by_dtype_[static_cast<size_t>(dtype)];
  }
  // The same for all dtypes.
  std::span<const FeatureUse> features() const { return Any().program.features(); }
  uint64_t fingerprint() const { return Any().program.fingerprint(); }
  const ImageUse& images() const { return Any().program.images(); }
  // Rows that cannot be decoded are replaced, and there may be some.
  bool replaces() const { return replaces_; }
  // Of memory, about.
  uint64_t bytes() const { return bytes_; }

 private:
  Decodings() = default;
  const Decoding& Any() const { return *by_dtype_[any_]; }

  std::array<absl::StatusOr<Decoding>, kNumWireDtypes + 1> by_dtype_;  // By WireDtype, from 1 on.
  size_t any_ = 0;
  uint64_t bytes_ = 0;
  bool replaces_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_DECODING_H_
