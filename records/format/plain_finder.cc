#include "records/format/plain_finder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "records/format/wire.h"

namespace penstock {

// Reads the entries of an Example as long as each message ends where its enclosing message ends.
class PlainReader {
 public:
  explicit PlainReader(std::span<const uint8_t> payload)
      : p_(payload.data()), end_(payload.data() + payload.size()) {
    const uint8_t* features_end = nullptr;
    plain_ = Open(1, features_end) && features_end == end_;
  }

  // Returns false at the end, or if the record is not plain.
  bool Next(PlainEntry& entry) {
    if (!plain_ || p_ == end_) return false;
    plain_ = Read(entry);
    return plain_;
  }
  // Reads the values of the next entry if it has this head. Otherwise returns false and reads
  // nothing.
  bool NextLike(const EntryHead& head, std::span<const uint8_t>& values) {
    if (!plain_ || !head.Matches(p_, end_, values)) return false;
    p_ = values.data() + values.size();
    return true;
  }
  bool plain() const { return plain_; }
  bool AtEnd() const { return plain_ && p_ == end_; }

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

  // Like Open(), for a field that is the last one of its message.
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

namespace {

bool TakeFixed(const FeatureUse& use, size_t slot, std::span<const uint8_t> values,
               const uint8_t* payload_end, FoundFeatures& found) {
  switch (use.type) {
    case FeatureType::kBytes:
      found.bytes[slot] = values;
      return use.count == 0 || use.count == values.size();
    case FeatureType::kFloat:
      if (values.size() != use.count * sizeof(float)) return false;
      std::memcpy(&found.floats[slot], values.data(), values.size());
      return true;
    case FeatureType::kInt64:
      // Reading may extend to the end of the payload, so that most varints are decoded eight bytes
      // at a time.
      return ReadIntegers(values.data(), payload_end, use.count, &found.ints[slot]) ==
             values.data() + values.size();
    case FeatureType::kNone:
      break;
  }
  return false;
}

bool TakeInteger(std::span<const uint8_t> values, const uint8_t* payload_end, int64_t& out) {
  if (payload_end - values.data() >= static_cast<ptrdiff_t>(kMaxVarintBytes)) {
    return ReadVarintOfSize(values.data(), values.size(), out);
  }
  return ReadIntegers(values.data(), payload_end, 1, &out) == values.data() + values.size();
}

bool TakeVariable(const FeatureUse& use, std::span<const uint8_t> values, FoundVariable& found) {
  found.present = true;
  found.type = use.type;
  found.runs.assign(1, values);
  found.count = 0;
  switch (use.type) {
    case FeatureType::kBytes:
      found.count = 1;
      return use.variable->Allows(values.size());
    case FeatureType::kFloat:
      if (values.size() % sizeof(float) != 0) return false;
      found.count = static_cast<uint32_t>(values.size() / sizeof(float));
      return use.variable->Allows(found.count);
    case FeatureType::kInt64:
      return ForEachVarint(values, [&found](uint64_t) { ++found.count; }) == nullptr &&
             use.variable->Allows(found.count);
    case FeatureType::kNone:
      break;
  }
  return false;
}

// Whether a plain record can provide what `use` wants.
bool IsPlain(const FeatureUse& use) {
  if (use.name.empty() || use.type == FeatureType::kNone) return false;
  return !use.variable || (!use.variable->sequence && !use.variable->list);
}

}  // namespace

PlainFinder::PlainFinder(std::span<const FeatureUse> specs, std::span<const size_t> slots)
    : possible_(true) {
  for (size_t i = 0; i < specs.size(); ++i) {
    possible_ &= IsPlain(specs[i]);
    wanted_.push_back({specs[i], static_cast<uint32_t>(slots[i])});
    possible_ &= by_name_.emplace(specs[i].name, static_cast<uint32_t>(i)).second;
    for (const std::string& alternative : AlternativesOf(specs[i].name)) {
      possible_ &= by_name_.emplace(alternative, static_cast<uint32_t>(i)).second;
    }
  }
}

bool PlainFinder::Find(std::span<const uint8_t> payload, FoundFeatures& found) {
  if (!possible_) return false;
  ++records_;
  const uint8_t* const payload_end = payload.data() + payload.size();
  PlainReader reader(payload);
  std::span<const uint8_t> values;
  size_t k = 0, seen = 0;
  for (; k < distinct_ && reader.NextLike(order_[k].head, values); ++k) {
    if (!Take(order_[k], values, payload_end, found)) return false;
    seen += order_[k].index == kUnwanted ? 0 : 1;
  }
  return (reader.AtEnd() && seen == wanted_.size()) || FindRest(reader, k, payload_end, found);
}

bool PlainFinder::FindRest(PlainReader reader, size_t k, const uint8_t* payload_end,
                           FoundFeatures& found) {
  for (size_t i = 0; i < k; ++i) {
    if (order_[i].index != kUnwanted) wanted_[order_[i].index].seen_in = records_;
  }
  PlainEntry entry;
  for (;; ++k) {
    uint32_t index;
    if (k < order_.size() && reader.NextLike(order_[k].head, entry.values)) {
      entry.type = order_[k].head.type();
      index = order_[k].index;
    } else if (reader.Next(entry)) {
      index = IndexOf(entry, k);
    } else {
      break;
    }
    if (index == kUnwanted) continue;
    Wanted& wanted = wanted_[index];
    if (std::exchange(wanted.seen_in, records_) == records_) return false;
    if (!TakeAny(index, entry.type, entry.values, payload_end, found)) return false;
  }
  distinct_ = std::max(distinct_, std::min(k, order_.size()));
  return reader.plain() && SettleAbsent(found);
}

inline bool PlainFinder::Take(const Known& known, std::span<const uint8_t> values,
                              const uint8_t* payload_end, FoundFeatures& found) const {
  switch (known.taking) {
    case Taking::kSkip:
      return true;
    case Taking::kFloat:
      if (values.size() != sizeof(float)) return false;
      std::memcpy(&found.floats[known.slot], values.data(), sizeof(float));
      return true;
    case Taking::kInteger:
      return TakeInteger(values, payload_end, found.ints[known.slot]);
    case Taking::kAny:
      break;
  }
  return TakeAny(known.index, known.head.type(), values, payload_end, found);
}

bool PlainFinder::TakeAny(uint32_t index, FeatureType type, std::span<const uint8_t> values,
                          const uint8_t* payload_end, FoundFeatures& found) const {
  const Wanted& wanted = wanted_[index];
  if (wanted.use.type != type) return false;
  if (wanted.use.variable) return TakeVariable(wanted.use, values, found.variable[wanted.slot]);
  return TakeFixed(wanted.use, wanted.slot, values, payload_end, found);
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
  const bool known = k < order_.size() && order_[k].head.type() == entry.type;
  if (known && order_[k].head.name() == entry.name) return order_[k].index;
  Known now = Learn(entry);
  const uint32_t index = now.index;
  distinct_ = std::min(distinct_, k);
  if (k < order_.size()) {
    order_[k] = std::move(now);
  } else if (k < kMostKnown) {
    order_.push_back(std::move(now));
  }
  return index;
}

PlainFinder::Known PlainFinder::Learn(const PlainEntry& entry) const {
  Known known = {EntryHead(entry.name, entry.type), kUnwanted, 0, Taking::kSkip};
  const auto found = by_name_.find(entry.name);
  if (found == by_name_.end()) return known;
  const Wanted& wanted = wanted_[found->second];
  known.index = found->second;
  known.slot = wanted.slot;
  known.taking = Taking::kAny;
  if (wanted.use.variable || wanted.use.type != entry.type || wanted.use.count != 1) return known;
  if (entry.type == FeatureType::kFloat) known.taking = Taking::kFloat;
  if (entry.type == FeatureType::kInt64) known.taking = Taking::kInteger;
  return known;
}

}  // namespace penstock
