// Streams that transform or check another stream.
#ifndef PENSTOCK_BASE_IO_INFLATE_STREAM_H_
#define PENSTOCK_BASE_IO_INFLATE_STREAM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/io/byte_stream.h"

namespace penstock {

// Decompresses raw deflate data (RFC 1951). kDataLoss: the data is damaged or truncated. Not
// thread-safe.
class InflateStream : public ByteStream {
 public:
  // `packed_bytes` is about as many as will be read. `name` is for error messages.
  InflateStream(std::unique_ptr<ByteStream> packed, uint64_t packed_bytes, std::string name);
  ~InflateStream() override;

  absl::StatusOr<size_t> Read(std::span<uint8_t> out) override;

 private:
  struct Zlib;

  absl::Status Fill();

  const std::unique_ptr<ByteStream> packed_;
  const std::string name_;
  const size_t input_bytes_;
  std::unique_ptr<Zlib> zlib_;
  std::vector<uint8_t> input_;
  bool ended_ = false;
};

// Checks the number of bytes and the CRC-32 of another stream. kDataLoss: there are too many bytes,
// which is reported at once, or too few bytes or another CRC, which is reported at the end. Not
// thread-safe.
class VerifiedStream : public ByteStream {
 public:
  VerifiedStream(std::unique_ptr<ByteStream> bytes, uint64_t size, uint32_t crc, std::string name)
      : bytes_(std::move(bytes)), name_(std::move(name)), left_(size), wanted_(crc) {}

  absl::StatusOr<size_t> Read(std::span<uint8_t> out) override;

 private:
  const std::unique_ptr<ByteStream> bytes_;
  const std::string name_;
  uint64_t left_;
  uint32_t crc_ = 0;
  const uint32_t wanted_;
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_IO_INFLATE_STREAM_H_
