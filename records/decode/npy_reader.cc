#include "records/decode/npy_reader.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/byte_size.h"
#include "base/status.h"

namespace penstock {
namespace {

constexpr size_t kPreambleBytes = 8;  // Magic 6 bytes, version 2.
constexpr absl::string_view kMagic("\x93NUMPY", 6);
constexpr uint64_t kMaxHeaderBytes = uint64_t{1} << 20;
constexpr uint64_t kBlockBytes = uint64_t{256} << 10;

// Returns 0 if a row has more than NpyReader::kMaxRowBytes bytes.
uint64_t RowBytes(const NpyHeader& header) {
  uint64_t bytes = header.item_bytes;
  for (size_t axis = 1; axis < header.shape.size(); ++axis) {
    const uint64_t size = header.shape[axis];
    if (size == 0 || size > NpyReader::kMaxRowBytes / bytes) return 0;
    bytes *= size;
  }
  return bytes;
}

}  // namespace

absl::StatusOr<NpyReader> NpyReader::Open(std::unique_ptr<ByteStream> bytes, std::string name) {
  NpyReader reader(std::move(bytes), std::move(name));
  PENSTOCK_RETURN_IF_ERROR(reader.ReadHeader());
  reader.row_bytes_ = RowBytes(reader.header_);
  reader.rows_left_ = reader.rows();
  if (reader.row_bytes_ > 0) return reader;
  return absl::InvalidArgumentError(absl::StrCat(
      reader.name_, ": a row has no values, or more than ", FormatByteSize(kMaxRowBytes)));
}

absl::Status NpyReader::ReadHeader() {
  uint8_t preamble[kPreambleBytes + 4];
  PENSTOCK_RETURN_IF_ERROR(ReadExactly(std::span(preamble, kPreambleBytes)));
  if (!std::equal(kMagic.begin(), kMagic.end(), reinterpret_cast<const char*>(preamble))) {
    return absl::InvalidArgumentError(absl::StrCat(name_, ": this is no .npy file"));
  }
  const int version = preamble[6];
  if (version < 1 || version > 3) {
    return absl::InvalidArgumentError(absl::StrCat(name_, ": is of version ", version, ".",
                                                   int{preamble[7]}, "; 1.0 to 3.0 can be read"));
  }
  const size_t length_bytes = version == 1 ? 2 : 4;
  PENSTOCK_RETURN_IF_ERROR(ReadExactly(std::span(preamble + kPreambleBytes, length_bytes)));
  uint64_t length = 0;
  for (size_t i = length_bytes; i > 0; --i) length = length << 8 | preamble[kPreambleBytes + i - 1];
  if (length > kMaxHeaderBytes) {
    return absl::DataLossError(absl::StrCat(name_, ": damaged: its header would have ", length,
                                            " bytes; the limit is ", kMaxHeaderBytes));
  }
  std::vector<uint8_t> text(length);
  PENSTOCK_RETURN_IF_ERROR(ReadExactly(text));
  absl::StatusOr<NpyHeader> header =
      ParseNpyHeader({reinterpret_cast<const char*>(text.data()), text.size()});
  if (!header.ok()) return Annotate(header.status(), name_);
  header_ = *std::move(header);
  return absl::OkStatus();
}

absl::Status NpyReader::ReadExactly(std::span<uint8_t> out) {
  while (!out.empty()) {
    PENSTOCK_ASSIGN_OR_RETURN(const size_t size, bytes_->Read(out));
    if (size == 0) return absl::DataLossError(absl::StrCat(name_, ": is truncated"));
    out = out.subspan(size);
  }
  return absl::OkStatus();
}

absl::Status NpyReader::FillRows() {
  const uint64_t rows =
      std::min(rows_left_, std::max<uint64_t>(1, kBlockBytes / std::max<uint64_t>(1, row_bytes_)));
  buffer_.resize(rows * row_bytes_);
  buffer_begin_ = 0;
  rows_left_ -= rows;
  return ReadExactly(buffer_);
}

absl::StatusOr<std::span<const uint8_t>> NpyReader::Next() {
  if (buffer_begin_ == buffer_.size()) PENSTOCK_RETURN_IF_ERROR(FillRows());
  const std::span<const uint8_t> row = std::span(buffer_).subspan(buffer_begin_, row_bytes_);
  buffer_begin_ += row_bytes_;
  return row;
}

absl::Status NpyReader::Finish() {
  uint8_t byte = 0;
  PENSTOCK_ASSIGN_OR_RETURN(const size_t size, bytes_->Read(std::span(&byte, 1)));
  if (size == 0) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(name_, ": has more bytes after its last row"));
}

}  // namespace penstock
