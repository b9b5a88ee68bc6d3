// An answer whose rows are decoded directly to where the client wants them.
#ifndef PENSTOCK_RECORDS_ENGINE_ROW_SOURCE_H_
#define PENSTOCK_RECORDS_ENGINE_ROW_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "records/image/image_note.h"

namespace penstock {

// Rows [first_row, first_row + rows) of the answer to `request`. Exists only during the event that
// delivers it; rows that are not decoded then are lost. Not thread-safe.
class RowSource {
 public:
  virtual uint64_t request() const = 0;
  virtual uint32_t first_row() const = 0;
  virtual uint32_t rows() const = 0;
  // Bytes of one row, summed over all tensors.
  virtual size_t row_bytes() const = 0;
  // Decodes rows [begin, begin + n) of rows(). The rows of tensor t are written to outputs[t],
  // row-major; record ids come last. The rows after them are prefetched, so ranges should ascend.
  // Long rows bypass the caches: call StreamingFence() before you tell another thread about them.
  // Returns false if a row cannot be decoded. None of these rows is then valid, and failure() says
  // why. An error for the request follows, unless the request has ended by then.
  // REQUIRES: the rows are within rows().
  [[nodiscard]] virtual bool Decode(uint32_t begin, uint32_t n,
                                    std::span<uint8_t* const> outputs) = 0;
  // Image counts of the rows that Decode() has decoded.
  virtual ImageCounts images() const { return {}; }
  // The reason why Decode() first returned false. The message names the record.
  virtual absl::Status failure() const { return absl::OkStatus(); }

 protected:
  ~RowSource() = default;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_ROW_SOURCE_H_
