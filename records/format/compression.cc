#include "records/format/compression.h"

#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "records/format/tfrecord.h"

namespace penstock {
namespace {

// 15 is zlib's largest window; adding 16 selects the gzip wrapper.
constexpr int kGzipWindowBits = 15 + 16;

bool StartsWith(std::span<const uint8_t> data, std::initializer_list<uint8_t> magic) {
  return data.size() >= magic.size() && std::equal(magic.begin(), magic.end(), data.begin());
}

uInt ZlibSize(size_t size) {
  return static_cast<uInt>(std::min<size_t>(size, std::numeric_limits<uInt>::max()));
}

absl::Status CompressGzip(std::span<const uint8_t> data, std::vector<uint8_t>& out) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindowBits, 8,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    return absl::ResourceExhaustedError("zlib: no memory for a compressor");
  }
  const size_t begin = out.size();
  out.resize(begin + deflateBound(&stream, data.size()));
  stream.next_in = const_cast<uint8_t*>(data.data());
  stream.avail_in = ZlibSize(data.size());
  stream.next_out = out.data() + begin;
  stream.avail_out = ZlibSize(out.size() - begin);
  int result = deflate(&stream, Z_FINISH);
  out.resize(begin + stream.total_out);
  deflateEnd(&stream);
  if (result != Z_STREAM_END) {
    return absl::InternalError(absl::StrCat("zlib: deflate answered ", result));
  }
  return absl::OkStatus();
}

absl::Status CompressZstd(std::span<const uint8_t> data, std::vector<uint8_t>& out) {
  std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(), &ZSTD_freeCCtx);
  if (context == nullptr) return absl::ResourceExhaustedError("zstd: no memory for a compressor");
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  const size_t begin = out.size();
  out.resize(begin + ZSTD_compressBound(data.size()));
  size_t size = ZSTD_compress2(context.get(), out.data() + begin, out.size() - begin, data.data(),
                               data.size());
  if (ZSTD_isError(size)) {
    return absl::InternalError(absl::StrCat("zstd: ", ZSTD_getErrorName(size)));
  }
  out.resize(begin + size);
  return absl::OkStatus();
}

}  // namespace

absl::string_view CompressionName(Compression compression) {
  switch (compression) {
    case Compression::kNone:
      return "none";
    case Compression::kGzip:
      return "gzip";
    case Compression::kZstd:
      return "zstd";
  }
  return "unknown";
}

absl::StatusOr<Compression> ParseCompression(absl::string_view name) {
  for (Compression value : {Compression::kNone, Compression::kGzip, Compression::kZstd}) {
    if (name == CompressionName(value)) return value;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("compression '", name, "' is not none, gzip or zstd"));
}

Compression DetectCompression(std::span<const uint8_t> head) {
  if (HasValidFrameHeader(head)) return Compression::kNone;
  if (StartsWith(head, {0x1f, 0x8b})) return Compression::kGzip;
  if (StartsWith(head, {0x28, 0xb5, 0x2f, 0xfd})) return Compression::kZstd;
  // A skippable frame, which pzstd and others put before the data.
  if (head.size() >= 4 && head[0] >> 4 == 5 && StartsWith(head.subspan(1), {0x2a, 0x4d, 0x18})) {
    return Compression::kZstd;
  }
  return Compression::kNone;
}

absl::Status CompressMember(Compression compression, std::span<const uint8_t> data,
                            std::vector<uint8_t>& out) {
  if (data.size() > std::numeric_limits<uInt>::max() / 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        data.size(), " bytes are too many for one compressed member; the limit is 2 GiB"));
  }
  return compression == Compression::kGzip ? CompressGzip(data, out) : CompressZstd(data, out);
}

// Errors that can also occur with valid bytes are not reported as damage.
absl::Status ZstdFailed(size_t result) {
  switch (ZSTD_getErrorCode(result)) {
    case ZSTD_error_frameParameter_windowTooLarge:
      return absl::ResourceExhaustedError(
          "zstd: the frame refers back over more than 128 MiB: compress it without --long");
    case ZSTD_error_memory_allocation:
      return absl::ResourceExhaustedError("zstd: no memory for a decompressor");
    default:
      return absl::DataLossError(absl::StrCat("zstd: ", ZSTD_getErrorName(result)));
  }
}

struct Decompressor::State {
  explicit State(Compression c) : compression(c) {
    if (c == Compression::kGzip) inflate_ready = inflateInit2(&stream, kGzipWindowBits) == Z_OK;
    if (c == Compression::kZstd) context = ZSTD_createDCtx();
  }
  ~State() {
    if (inflate_ready) inflateEnd(&stream);
    ZSTD_freeDCtx(context);
  }

  absl::StatusOr<bool> StepGzip(std::span<const uint8_t>& in, std::span<uint8_t>& out);
  absl::StatusOr<bool> StepZstd(std::span<const uint8_t>& in, std::span<uint8_t>& out);

  const Compression compression;
  z_stream stream{};
  bool inflate_ready = false;
  ZSTD_DCtx* context = nullptr;
};

absl::StatusOr<bool> Decompressor::State::StepGzip(std::span<const uint8_t>& in,
                                                   std::span<uint8_t>& out) {
  if (!inflate_ready) return absl::ResourceExhaustedError("zlib: no memory for a decompressor");
  stream.next_in = const_cast<uint8_t*>(in.data());
  stream.avail_in = ZlibSize(in.size());
  stream.next_out = out.data();
  stream.avail_out = ZlibSize(out.size());
  int result = inflate(&stream, Z_NO_FLUSH);
  in = in.subspan(static_cast<size_t>(stream.next_in - in.data()));
  out = out.subspan(static_cast<size_t>(stream.next_out - out.data()));
  if (result == Z_STREAM_END) {
    inflateReset(&stream);
    return true;
  }
  // Z_BUF_ERROR means that there is no progress without more input or output. The data may be
  // valid.
  if (result == Z_OK || result == Z_BUF_ERROR) return false;
  if (result == Z_MEM_ERROR) return absl::ResourceExhaustedError("zlib: no memory to decompress");
  return absl::DataLossError(
      absl::StrCat("gzip: ", stream.msg != nullptr ? stream.msg : "not a gzip member"));
}

absl::StatusOr<bool> Decompressor::State::StepZstd(std::span<const uint8_t>& in,
                                                   std::span<uint8_t>& out) {
  if (context == nullptr) return absl::ResourceExhaustedError("zstd: no memory for a decompressor");
  ZSTD_inBuffer source{in.data(), in.size(), 0};
  ZSTD_outBuffer target{out.data(), out.size(), 0};
  bool ended = false;
  while (!ended) {
    const size_t before = source.pos + target.pos;
    size_t result = ZSTD_decompressStream(context, &target, &source);
    if (ZSTD_isError(result)) {
      in = in.subspan(source.pos);
      return ZstdFailed(result);
    }
    ended = result == 0;
    if (source.pos + target.pos == before) break;
    if (target.pos == target.size && source.pos == source.size) break;
  }
  in = in.subspan(source.pos);
  out = out.subspan(target.pos);
  return ended;
}

Decompressor::Decompressor(Compression compression)
    : state_(std::make_unique<State>(compression)) {}
Decompressor::Decompressor(Decompressor&&) noexcept = default;
Decompressor& Decompressor::operator=(Decompressor&&) noexcept = default;
Decompressor::~Decompressor() = default;

Compression Decompressor::compression() const { return state_->compression; }

void Decompressor::Reset() {
  if (state_->inflate_ready) inflateReset(&state_->stream);
  if (state_->context != nullptr) ZSTD_DCtx_reset(state_->context, ZSTD_reset_session_only);
}

absl::StatusOr<bool> Decompressor::Step(std::span<const uint8_t>& in, std::span<uint8_t>& out) {
  return state_->compression == Compression::kGzip ? state_->StepGzip(in, out)
                                                   : state_->StepZstd(in, out);
}

absl::Status Decompressor::DecompressExactly(std::span<const uint8_t> in, std::span<uint8_t> out) {
  Reset();
  const size_t in_size = in.size(), out_size = out.size();
  uint8_t spare = 0;  // One byte more than expected proves that there are too many.
  std::span<uint8_t> rest(&spare, 1);
  while (!in.empty()) {
    const size_t before = in.size() + out.size();
    absl::StatusOr<bool> ended = Step(in, out.empty() ? rest : out);
    if (!ended.ok()) {
      return Annotate(ended.status(), absl::StrCat("compressed byte ", in_size - in.size()));
    }
    if (rest.empty()) {
      return absl::DataLossError(
          absl::StrCat("the members hold more than the ", out_size, " bytes expected"));
    }
    if (*ended && in.empty()) {
      if (out.empty()) return absl::OkStatus();
      break;
    }
    if (!*ended && in.size() + out.size() == before && !out.empty()) break;
    if (!*ended && in.empty()) {
      return absl::DataLossError(
          absl::StrCat(CompressionName(compression()), ": cut after compressed byte ", in_size));
    }
  }
  return absl::DataLossError(absl::StrCat("the members hold ", out_size - out.size(), " bytes, ",
                                          out_size, " were expected"));
}

}  // namespace penstock
