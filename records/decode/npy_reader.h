// Reads NumPy's .npy files, versions 1.0 to 3.0
// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html).
#ifndef PENSTOCK_RECORDS_DECODE_NPY_READER_H_
#define PENSTOCK_RECORDS_DECODE_NPY_READER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/io/byte_stream.h"

namespace penstock {

enum class NpyKind : uint8_t { kBool, kInt, kUint, kFloat };

struct NpyHeader {
  NpyKind kind = NpyKind::kFloat;
  uint32_t item_bytes = 0;  // 1, 2, 4 or 8.
  std::vector<uint64_t> shape;
};

// Parses the dictionary of a header. kInvalidArgument: NpyReader cannot read such an array; the
// message says what it is. kDataLoss: it is not such a dictionary.
absl::StatusOr<NpyHeader> ParseNpyHeader(absl::string_view dictionary);

// Reads an array [rows, ...] row by row. Memory is bounded by one row or 256 KiB. Not thread-safe.
//
// Supports arrays of bool, integers and floats, little-endian, in C order, with at least one axis.
class NpyReader {
 public:
  static constexpr uint64_t kMaxRowBytes = uint64_t{64} << 20;

  // Reads the header. `name` is the name of the array, for messages.
  // kDataLoss: the file is damaged or truncated.
  // kInvalidArgument: it is another kind of array, or has larger rows.
  static absl::StatusOr<NpyReader> Open(std::unique_ptr<ByteStream> bytes, std::string name);

  const NpyHeader& header() const { return header_; }
  uint64_t rows() const { return header_.shape[0]; }
  // Number of values in a row.
  uint64_t row_values() const { return row_bytes_ / header_.item_bytes; }

  // Returns the next row, valid until the next call. kDataLoss: the file is truncated. REQUIRES:
  // there is a next row.
  absl::StatusOr<std::span<const uint8_t>> Next();

  // Call it after the last row. kDataLoss: the file has more bytes, or the stream detects damage.
  absl::Status Finish();

 private:
  NpyReader(std::unique_ptr<ByteStream> bytes, std::string name)
      : bytes_(std::move(bytes)), name_(std::move(name)) {}
  absl::Status ReadHeader();
  absl::Status ReadExactly(std::span<uint8_t> out);
  absl::Status FillRows();

  std::unique_ptr<ByteStream> bytes_;
  std::string name_;
  NpyHeader header_;
  uint64_t row_bytes_ = 0;
  uint64_t rows_left_ = 0;  // Rows after those in buffer_.
  std::vector<uint8_t> buffer_;
  size_t buffer_begin_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DECODE_NPY_READER_H_
