#include "base/io/inflate_stream.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status.h"

namespace penstock {
namespace {

constexpr int kRawWindowBits = -15;  // A negative number tells zlib that there is no wrapper.

}  // namespace

struct InflateStream::Zlib {
  Zlib() { ready = inflateInit2(&stream, kRawWindowBits) == Z_OK; }
  ~Zlib() {
    if (ready) inflateEnd(&stream);
  }
  z_stream stream{};
  bool ready = false;
};

InflateStream::InflateStream(std::unique_ptr<ByteStream> packed, uint64_t packed_bytes,
                             std::string name)
    : packed_(std::move(packed)),
      name_(std::move(name)),
      input_bytes_(std::clamp<uint64_t>(packed_bytes, 1, 256 << 10)),
      zlib_(std::make_unique<Zlib>()) {}
InflateStream::~InflateStream() = default;

absl::Status InflateStream::Fill() {
  z_stream& stream = zlib_->stream;
  if (stream.avail_in > 0) return absl::OkStatus();
  input_.resize(input_bytes_);
  PENSTOCK_ASSIGN_OR_RETURN(const size_t size, packed_->Read(input_));
  if (size == 0) return absl::DataLossError(absl::StrCat(name_, ": deflate: cut"));
  stream.next_in = input_.data();
  stream.avail_in = static_cast<uInt>(size);
  return absl::OkStatus();
}

absl::StatusOr<size_t> InflateStream::Read(std::span<uint8_t> out) {
  if (!zlib_->ready) return absl::ResourceExhaustedError("zlib: no memory for a decompressor");
  z_stream& stream = zlib_->stream;
  out = out.first(std::min<size_t>(out.size(), std::numeric_limits<uInt>::max()));
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  while (!ended_ && stream.avail_out == out.size() && !out.empty()) {
    PENSTOCK_RETURN_IF_ERROR(Fill());
    const int result = inflate(&stream, Z_NO_FLUSH);
    if (result == Z_MEM_ERROR) return absl::ResourceExhaustedError("zlib: no memory to decompress");
    ended_ = result == Z_STREAM_END;
    if (ended_ || result == Z_OK || result == Z_BUF_ERROR) continue;
    return absl::DataLossError(
        absl::StrCat(name_, ": deflate: ", stream.msg != nullptr ? stream.msg : "damaged"));
  }
  return out.size() - stream.avail_out;
}

absl::StatusOr<size_t> VerifiedStream::Read(std::span<uint8_t> out) {
  PENSTOCK_ASSIGN_OR_RETURN(const size_t size, bytes_->Read(out));
  if (size > left_) return absl::DataLossError(absl::StrCat(name_, ": has more bytes than stated"));
  left_ -= size;
  crc_ = static_cast<uint32_t>(crc32_z(crc_, out.data(), size));
  if (size > 0 || out.empty()) return size;
  if (left_ > 0) {
    return absl::DataLossError(absl::StrCat(name_, ": ends ", left_, " bytes too early"));
  }
  if (crc_ == wanted_) return 0;
  return absl::DataLossError(
      absl::StrFormat("%s: CRC-32 computed 0x%08x, stored 0x%08x", name_, crc_, wanted_));
}

}  // namespace penstock
