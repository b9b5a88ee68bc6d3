// The SHA-256 of the rows of batches, in order.
#ifndef PENSTOCK_CLI_STREAM_ROW_DIGEST_H_
#define PENSTOCK_CLI_STREAM_ROW_DIGEST_H_

#include <string>
#include <vector>

#include "base/sha256.h"
#include "client/loader/loader.h"

namespace penstock {

// For each row, for each tensor in the spec's order, that row's bytes: so it does not depend on the
// batch size. Not thread-safe.
class RowDigest {
 public:
  void Add(const Batch& batch);
  std::string Hex() const { return hash_.Hex(); }

 private:
  Sha256 hash_;
  std::vector<uint8_t> rows_;  // One batch, row by row: one long update is faster than many short.
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_STREAM_ROW_DIGEST_H_
