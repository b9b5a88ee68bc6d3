// An answer whose rows are decoded straight to where the client wants them.
#ifndef PENSTOCK_RECORDS_ENGINE_ROW_SOURCE_H_
#define PENSTOCK_RECORDS_ENGINE_ROW_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "records/image/image_note.h"

namespace penstock {

// Rows [first_row, first_row + rows) of the answer to `request`. Lives as long as the event that
// brings it; what is not decoded then never is. Not thread-safe.
class RowSource {
 public:
  virtual uint64_t request() const = 0;
  virtual uint32_t first_row() const = 0;
  virtual uint32_t rows() const = 0;
  // Of all tensors together.
  virtual size_t row_bytes() const = 0;
  // Rows [begin, begin + n) of these: those of tensor t go to outputs[t], row-major, record ids
  // last. The rows behind them are fetched ahead, so ranges should ascend. Long rows are written
  // past the caches: call StreamingFence() before another thread is told of them. False: a row
  // cannot be decoded; none of these count, and failure() says why. An error of the request
  // follows, unless it has ended by then. REQUIRES: within rows().
  [[nodiscard]] virtual bool Decode(uint32_t begin, uint32_t n,
                                    std::span<uint8_t* const> outputs) = 0;
  // Of the rows that Decode() has decoded.
  virtual ImageCounts images() const { return {}; }
  // Why the first Decode() that returned false did so: names the record.
  virtual absl::Status failure() const { return absl::OkStatus(); }

 protected:
  ~RowSource() = default;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_ROW_SOURCE_H_
