#include "records/format/wire.h"

namespace penstock {
namespace {

constexpr int kMaxGroupDepth = 64;

// Splits a tag. Returns false if protobuf has no such field number or type.
bool SplitTag(uint64_t tag, WireField& field) {
  const uint64_t number = tag >> 3;
  if (number == 0 || number >= uint64_t{1} << 29 || (tag & 7) > 5) return false;
  field.number = static_cast<uint32_t>(number);
  field.type = static_cast<WireType>(tag & 7);
  return true;
}

}  // namespace

const uint8_t* WireReader::ValueEnd(const uint8_t* p, const WireField& field, int depth) const {
  uint64_t value;
  switch (field.type) {
    case WireType::kVarint:
      return ReadVarint(p, end_, value);
    case WireType::kFixed64:
      return end_ - p >= 8 ? p + 8 : nullptr;
    case WireType::kFixed32:
      return end_ - p >= 4 ? p + 4 : nullptr;
    case WireType::kBytes:
      p = ReadVarint(p, end_, value);
      return p != nullptr && value <= static_cast<uint64_t>(end_ - p) ? p + value : nullptr;
    case WireType::kEndGroup:
      return nullptr;
    case WireType::kGroup:
      break;
  }
  if (depth == kMaxGroupDepth) return nullptr;
  while (p != nullptr) {
    WireField inner;
    p = ReadVarint(p, end_, value);
    if (p == nullptr || !SplitTag(value, inner)) return nullptr;
    if (inner.type == WireType::kEndGroup) return inner.number == field.number ? p : nullptr;
    p = ValueEnd(p, inner, depth + 1);
  }
  return nullptr;
}

bool WireReader::Next(WireField& field) {
  if (p_ == end_ || failed_) return false;
  uint64_t tag, length;
  const uint8_t* begin = ReadVarint(p_, end_, tag);
  if (begin == nullptr || !SplitTag(tag, field)) return Fail();
  const uint8_t* end = ValueEnd(begin, field, 0);
  if (end == nullptr) return Fail();
  if (field.type == WireType::kBytes) begin = ReadVarint(begin, end, length);
  field.value = {begin, end};
  if (trace_ != nullptr) trace_->Add(p_, begin);
  p_ = end;
  return true;
}

}  // namespace penstock
