// Computes digests of a stream: of its rows in order, and of its records in any order.
#ifndef PENSTOCK_CLI_STREAM_ROW_DIGEST_H_
#define PENSTOCK_CLI_STREAM_ROW_DIGEST_H_

#include <cstdint>
#include <string>

#include "base/sha256.h"
#include "cli/stream/row_bytes.h"
#include "client/loader/loader.h"

namespace penstock {

// The SHA-256 of all rows in order: for each row, for each tensor in the spec's order, that row's
// bytes. So it does not depend on the batch size. Not thread-safe.
class RowDigest {
 public:
  void Add(const Batch& batch);
  std::string Hex() const { return hash_.Hex(); }

 private:
  Sha256 hash_;
  RowBytes rows_;
};

// The sum modulo 2^256 of one SHA-256 for each row. Each is computed over the row's record id (8
// bytes, little-endian) and the bytes of its tensors in the spec's order. Digests count as
// big-endian numbers. The sum does not depend on the order of rows, and the sums of all ranks add
// up to that of the whole. Not thread-safe.
class RecordDigest {
 public:
  // REQUIRES: the batch has record ids.
  void Add(const Batch& batch);
  // Returns 64 lower-case hexadecimal digits.
  std::string Hex() const;

 private:
  void Add(const Sha256::Digest& digest);

  Sha256::Digest sum_ = {};  // Big-endian.
  RowBytes rows_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_STREAM_ROW_DIGEST_H_
