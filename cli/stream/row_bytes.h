// Lays out the rows of a batch one after the other, each with the bytes of all its tensors.
#ifndef PENSTOCK_CLI_STREAM_ROW_BYTES_H_
#define PENSTOCK_CLI_STREAM_ROW_BYTES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "client/loader/loader.h"

namespace penstock {

// Writes a row's tensors in the spec's order. Reuses its memory. Not thread-safe.
class RowBytes {
 public:
  // With `ids`, each row begins with its record id, 8 bytes, little-endian. REQUIRES: with `ids`,
  // the batch has record ids.
  void Fill(const Batch& batch, bool ids = false);

  // The rows of the batch that was given to the last Fill().
  std::span<const uint8_t> all() const { return bytes_; }
  std::span<const uint8_t> row(size_t i) const {
    return std::span(bytes_).subspan(i * row_size_, row_size_);
  }

 private:
  // Copies `size` bytes per row from `column` to `offset` of each row.
  void AddColumn(std::span<const uint8_t> column, size_t size, size_t offset);

  std::vector<uint8_t> bytes_;
  size_t row_size_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_STREAM_ROW_BYTES_H_
