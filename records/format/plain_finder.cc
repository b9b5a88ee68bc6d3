#include "records/format/plain_finder.h"

#include <algorithm>
#include <cstring>

#include "base/load.h"
#include "records/format/wire.h"

namespace penstock {
namespace {

// Reads the entries of an Example, as long as each message ends where the one around it does.
class PlainReader {
 public:
  explicit PlainReader(std::span<const uint8_t> payload)
      : p_(payload.data()), end_(payload.data() + payload.size()) {
    const uint8_t* features_end = nullptr;
    plain_ = Open(1, features_end) && features_end == end_;
  }

  // False at the end, and where the record is not plain.
  bool Next(PlainEntry& entry) {
    if (!plain_ || p_ == end_) return false;
    plain_ = Read(entry);
    return plain_;
  }
  // Reads the next entry if it has this name and type and is shorter than 128 bytes, so that each
  // length is one byte:
  //   0a ENTRY 0a NAME name.. 12 FEATURE kind LIST 0a VALUES values..
  // False: nothing was read.
  bool NextLike(const PlainName& name, FeatureType type, PlainEntry& entry) {
    constexpr size_t kAround = 10;  // All but name and values.
    if (!plain_ || static_cast<size_t>(end_ - p_) < kAround + name.size() + sizeof(uint64_t)) {
      return false;
    }
    const uint32_t head = Load32(p_);
    const size_t entry_size = head >> 8 & 0xff;
    if ((head & 0xffff00ff) != (name.size() << 24 | 0x000a000a) || entry_size >= 0x80) return false;
    if (!name.IsAt(p_ + 4)) return false;
    const uint64_t tail = Load64(p_ + 4 + name.size()) & 0xffffffffffff;
    const uint64_t values_size = tail >> 40;
    const uint64_t kind = static_cast<uint64_t>(type) << 3 | 2;
    // Each length is that of the values and what is between.
    const uint64_t want =
        (values_size * 0x010001000100 + 0x000002000400) | 0x000a00000012 | kind << 16;
    const size_t size = kAround - 2 + name.size() + values_size;
    if (tail != want || entry_size != size || size > static_cast<size_t>(end_ - p_) - 2)
      return false;
    entry = {name.view(), type, {p_ + kAround + name.size(), static_cast<size_t>(values_size)}};
    p_ += 2 + size;
    return true;
  }
  bool plain() const { return plain_; }

 private:
  // Passes the tag and the length of field `number`, which is a message or bytes.
  bool Open(uint8_t number, const uint8_t*& value_end) {
    if (p_ == end_ || *p_ != (number << 3 | static_cast<uint8_t>(WireType::kBytes))) return false;
    uint64_t size;
    const uint8_t* begin = ReadVarint(p_ + 1, end_, size);
    if (begin == nullptr || size > static_cast<uint64_t>(end_ - begin)) return false;
    p_ = begin;
    value_end = begin + size;
    return true;
  }

  // The same of a field that is the last one of its message.
  bool OpenLast(uint8_t number, const uint8_t* message_end) {
    const uint8_t* value_end = nullptr;
    return Open(number, value_end) && value_end == message_end;
  }

  bool Read(PlainEntry& entry) {
    const uint8_t *entry_end = nullptr, *name_end = nullptr;
    if (!Open(1, entry_end) || !Open(1, name_end)) return false;
    if (name_end > entry_end) return false;
    entry.name = {reinterpret_cast<const char*>(p_), static_cast<size_t>(name_end - p_)};
    p_ = name_end;
    if (!OpenLast(2, entry_end) || p_ == entry_end) return false;
    const auto kind = static_cast<uint8_t>(*p_ >> 3);
    if (kind == 0 || kind > 3) return false;
    entry.type = static_cast<FeatureType>(kind);
    if (!OpenLast(kind, entry_end) || !OpenLast(1, entry_end)) return false;
    entry.values = {p_, entry_end};
    p_ = entry_end;
    return true;
  }

  const uint8_t* p_;
  const uint8_t* end_;
  bool plain_ = false;
};

bool TakeFixed(const FeatureUse& use, size_t slot, const PlainEntry& entry,
               const uint8_t* payload_end, FoundFeatures& found) {
  switch (use.type) {
    case FeatureType::kBytes:
      found.bytes[slot] = entry.values;
      return use.count == 0 || use.count == entry.values.size();
    case FeatureType::kFloat:
      if (entry.values.size() != use.count * sizeof(float)) return false;
      std::memcpy(&found.floats[slot], entry.values.data(), entry.values.size());
      return true;
    case FeatureType::kInt64:
      // The end of the payload, so that most varints are read by eight bytes at once.
      return ReadIntegers(entry.values.data(), payload_end, use.count, &found.ints[slot]) ==
             entry.values.data() + entry.values.size();
    case FeatureType::kNone:
      break;
  }
  return false;
}

bool TakeVariable(const FeatureUse& use, const PlainEntry& entry, FoundVariable& found) {
  found.present = true;
  found.type = use.type;
  found.runs.assign(1, entry.values);
  found.count = 0;
  switch (use.type) {
    case FeatureType::kBytes:
      found.count = 1;
      return use.variable->Allows(entry.values.size());
    case FeatureType::kFloat:
      if (entry.values.size() % sizeof(float) != 0) return false;
      found.count = static_cast<uint32_t>(entry.values.size() / sizeof(float));
      return use.variable->Allows(found.count);
    case FeatureType::kInt64:
      return ForEachVarint(entry.values, [&found](uint64_t) { ++found.count; }) == nullptr &&
             use.variable->Allows(found.count);
    case FeatureType::kNone:
      break;
  }
  return false;
}

// Whether a plain record tells what `use` wants.
bool IsPlain(const FeatureUse& use) {
  if (use.name.empty() || use.type == FeatureType::kNone) return false;
  return !use.variable || (!use.variable->sequence && !use.variable->list);
}

}  // namespace

PlainName::PlainName(absl::string_view name) : name_(name) {
  const size_t size = std::min<size_t>(name_.size(), 8);
  std::memcpy(&first_, name_.data(), size);
  mask_ = size == 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * size) - 1;
}

PlainFinder::PlainFinder(std::span<const FeatureUse> specs, std::span<const size_t> slots)
    : possible_(true) {
  for (size_t i = 0; i < specs.size(); ++i) {
    possible_ &= IsPlain(specs[i]);
    wanted_.push_back({specs[i], static_cast<uint32_t>(slots[i])});
    possible_ &= by_name_.emplace(specs[i].name, static_cast<uint32_t>(i)).second;
  }
}

bool PlainFinder::Find(std::span<const uint8_t> payload, FoundFeatures& found) {
  if (!possible_) return false;
  ++records_;
  const uint8_t* const payload_end = payload.data() + payload.size();
  PlainReader reader(payload);
  PlainEntry entry;
  size_t seen = 0;
  for (size_t k = 0;; ++k) {
    uint32_t index;
    if (k < order_.size() && reader.NextLike(order_[k].name, order_[k].type, entry)) {
      index = order_[k].index;
    } else if (reader.Next(entry)) {
      index = IndexOf(entry, k);
    } else {
      break;
    }
    if (index == kUnwanted) continue;
    if (!Take(index, entry, payload_end, found)) return false;
    ++seen;
  }
  return reader.plain() && (seen == wanted_.size() || SettleAbsent(found));
}

bool PlainFinder::Take(uint32_t index, const PlainEntry& entry, const uint8_t* payload_end,
                       FoundFeatures& found) {
  Wanted& wanted = wanted_[index];
  const bool again = wanted.seen_in == records_;
  wanted.seen_in = records_;
  if (again || wanted.use.type != entry.type) return false;
  if (wanted.use.variable) return TakeVariable(wanted.use, entry, found.variable[wanted.slot]);
  return TakeFixed(wanted.use, wanted.slot, entry, payload_end, found);
}

bool PlainFinder::SettleAbsent(FoundFeatures& found) const {
  for (const Wanted& wanted : wanted_) {
    if (wanted.seen_in == records_) continue;
    if (!wanted.use.variable || !wanted.use.variable->optional) return false;
    found.variable[wanted.slot].Clear();
  }
  return true;
}

uint32_t PlainFinder::IndexOf(const PlainEntry& entry, size_t k) {
  const bool known = k < order_.size() && order_[k].type == entry.type;
  if (known && order_[k].name.view() == entry.name) return order_[k].index;
  const auto found = by_name_.find(entry.name);
  const uint32_t index = found == by_name_.end() ? kUnwanted : found->second;
  const Known now{PlainName(entry.name), entry.type, index};
  if (k < order_.size()) {
    order_[k] = now;
  } else if (k < kMostKnown) {
    order_.push_back(now);
  }
  return index;
}

}  // namespace penstock
