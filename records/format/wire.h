// Protobuf's wire format (protobuf.dev/programming-guides/encoding): functions to read it and to
// write short messages.
#ifndef PENSTOCK_RECORDS_FORMAT_WIRE_H_
#define PENSTOCK_RECORDS_FORMAT_WIRE_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/load.h"

namespace penstock {

enum class WireType : uint8_t {
  kVarint = 0,
  kFixed64 = 1,
  kBytes = 2,
  kGroup = 3,
  kEndGroup = 4,
  kFixed32 = 5,
};

// Joins the lower seven bits of each byte of `bytes`, without gaps.
inline uint64_t JoinSevens(uint64_t bytes) {
  bytes = (bytes & 0x007f007f007f007f) | (bytes & 0x7f007f007f007f00) >> 1;
  bytes = (bytes & 0x00003fff00003fff) | (bytes & 0x3fff00003fff0000) >> 2;
  return (bytes & 0x000000000fffffff) | (bytes & 0x0fffffff00000000) >> 4;
}

// ReadVarint() for the case that ten bytes can be read.
inline const uint8_t* ReadVarintOfTen(const uint8_t* p, uint64_t& value) {
  const uint64_t bytes = Load64(p);
  const uint64_t ends = ~bytes & 0x8080808080808080;
  if (ends != 0) {
    value = JoinSevens(bytes & (ends ^ (ends - 1)));
    return p + std::countr_zero(ends) / 8 + 1;
  }
  value = JoinSevens(bytes) | static_cast<uint64_t>(p[8] & 0x7f) << 56;
  if (p[8] < 0x80) return p + 9;
  value |= static_cast<uint64_t>(p[9]) << 63;
  return p[9] < 0x80 ? p + 10 : nullptr;
}

// Decodes the varint at the front of [p, end). Returns the byte after it, or null if it is
// truncated or longer than 10 bytes.
inline const uint8_t* ReadVarint(const uint8_t* p, const uint8_t* end, uint64_t& value) {
  if (p < end && *p < 0x80) {
    value = *p;
    return p + 1;
  }
  if (end - p >= 10) return ReadVarintOfTen(p, value);
  value = 0;
  for (unsigned shift = 0; p < end; shift += 7) {
    const uint8_t byte = *p++;
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return p;
  }
  return nullptr;
}

inline constexpr size_t kMaxVarintBytes = 10;

// Masks for a varint of a given size, as two words: the bytes that it has, and their continuation
// bits.
struct VarintShape {
  uint64_t bytes[2] = {};
  uint64_t goes_on[2] = {};
};

inline constexpr auto kVarintShapes = [] {
  std::array<VarintShape, kMaxVarintBytes + 1> shapes;
  for (size_t size = 1; size < shapes.size(); ++size) {
    for (size_t i = 0; i < size; ++i) {
      shapes[size].bytes[i / 8] |= uint64_t{0xff} << i % 8 * 8;
      if (i + 1 < size) shapes[size].goes_on[i / 8] |= uint64_t{0x80} << i % 8 * 8;
    }
  }
  return shapes;
}();

// Decodes the varint of exactly `size` bytes at `p`. Returns false if there is none. No branch
// depends on `size`, which varies between records. REQUIRES: ten bytes can be read.
inline bool ReadVarintOfSize(const uint8_t* p, size_t size, int64_t& value) {
  if (size == 0 || size > kMaxVarintBytes) return false;
  const VarintShape& shape = kVarintShapes[size];
  const uint64_t low = Load64(p) & shape.bytes[0];
  const uint64_t high = Load16(p + 8) & shape.bytes[1];
  value = static_cast<int64_t>(JoinSevens(low) | (high & 0x7f) << 56 | high >> 8 << 63);
  constexpr uint64_t kGoesOn = 0x8080808080808080;
  return (((low & kGoesOn) ^ shape.goes_on[0]) | ((high & kGoesOn) ^ shape.goes_on[1])) == 0;
}

// Decodes `count` varints at the front of [p, end) to `out`. Returns the byte after the last one,
// or null.
inline const uint8_t* ReadIntegers(const uint8_t* p, const uint8_t* end, size_t count,
                                   int64_t* out) {
  for (size_t i = 0; i < count && p != nullptr; ++i) {
    uint64_t value;
    p = ReadVarint(p, end, value);
    out[i] = static_cast<int64_t>(value);
  }
  return p;
}

// Calls visit(uint64_t) for each varint of `run`. Returns null if they fill `run` exactly, else the
// byte at which a varint is broken.
template <typename Visit>
const uint8_t* ForEachVarint(std::span<const uint8_t> run, const Visit& visit) {
  const uint8_t* const end = run.data() + run.size();
  for (const uint8_t* p = run.data(); p != end;) {
    uint64_t value;
    const uint8_t* const next = ReadVarint(p, end, value);
    if (next == nullptr) return p;
    visit(value);
    p = next;
  }
  return nullptr;
}

// The number of bytes that `value` takes as a varint.
inline size_t VarintSize(uint64_t value) {
  size_t size = 1;
  while (value >>= 7) ++size;
  return size;
}

// Writes `value` to `out`, which must have room for VarintSize() bytes. Returns the byte after it.
inline uint8_t* WriteVarint(uint64_t value, uint8_t* out) {
  for (; value >= 0x80; value >>= 7) *out++ = static_cast<uint8_t>(value | 0x80);
  *out++ = static_cast<uint8_t>(value);
  return out;
}

// Appends `value` to a string or a vector of bytes.
template <typename Out>
void AppendVarint(uint64_t value, Out& out) {
  using Byte = typename Out::value_type;
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<Byte>(value | 0x80));
  out.push_back(static_cast<Byte>(value));
}

// The ranges of a message that a reader looked at. Messages that agree in them have the same
// structure.
class WireTrace {
 public:
  using Range = std::pair<const uint8_t*, const uint8_t*>;

  void Clear() { ranges_.clear(); }
  void Add(const uint8_t* begin, const uint8_t* end) {
    if (!ranges_.empty() && ranges_.back().second == begin) {
      ranges_.back().second = end;
    } else {
      ranges_.emplace_back(begin, end);
    }
  }
  const std::vector<Range>& ranges() const { return ranges_; }

 private:
  std::vector<Range> ranges_;
};

struct WireField {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
  // The value without its tag: the content of kBytes, the encoded varint, 4 or 8 bytes, or a group
  // with its end tag.
  std::span<const uint8_t> value;
};

// Reads the fields of one message. Tags and lengths are added to the trace; values are not. Not
// thread-safe.
class WireReader {
 public:
  // The bytes, and the trace if there is one, must outlive the reader.
  explicit WireReader(std::span<const uint8_t> message, WireTrace* trace = nullptr)
      : p_(message.data()), end_(message.data() + message.size()), trace_(trace) {}

  // Reads the next field. Returns false at the end of the message, or if it is malformed; failed()
  // is then true.
  bool Next(WireField& field);
  bool failed() const { return failed_; }
  // The byte at which reading has stopped.
  const uint8_t* position() const { return p_; }

 private:
  bool Fail() {
    failed_ = true;
    return false;
  }
  // Returns the byte after the value at `p`, or null if the value is malformed.
  const uint8_t* ValueEnd(const uint8_t* p, const WireField& field, int depth) const;

  const uint8_t* p_;
  const uint8_t* end_;
  WireTrace* trace_;
  bool failed_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_FORMAT_WIRE_H_
