// Rows with features of any length, as the chunk store packs them.
#ifndef PENSTOCK_RECORDS_DECODE_TESTING_VARIABLE_ROW_H_
#define PENSTOCK_RECORDS_DECODE_TESTING_VARIABLE_ROW_H_

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "records/format/variable_entry.h"
#include "records/format/wire.h"

namespace penstock {

// One feature of one row. Its bytes begin with an entry, or with the values of a fixed feature.
using FeatureRow = std::vector<uint8_t>;

inline FeatureRow VariableRow(bool present, size_t count, std::span<const uint8_t> bytes) {
  constexpr size_t kGap = 3;  // The values may be anywhere after the entry.
  FeatureRow row(kVariableEntryBytes + kGap, 0xee);
  row.insert(row.end(), bytes.begin(), bytes.end());
  const std::span<const uint8_t> values = std::span(row).subspan(kVariableEntryBytes + kGap);
  StoreVariable({present, static_cast<uint32_t>(count), values}, row.data());
  return row;
}

inline FeatureRow AbsentRow() { return VariableRow(false, 0, {}); }

inline FeatureRow IntegersRow(std::span<const int64_t> values) {
  std::vector<uint8_t> bytes;
  for (const int64_t value : values) AppendVarint(static_cast<uint64_t>(value), bytes);
  return VariableRow(true, values.size(), bytes);
}

inline FeatureRow FloatsRow(std::span<const float> values) {
  std::vector<uint8_t> bytes(values.size_bytes());
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return VariableRow(true, values.size(), bytes);
}

inline FeatureRow BytesRow(const std::string& value) {
  return VariableRow(true, 1, std::vector<uint8_t>(value.begin(), value.end()));
}

inline FeatureRow ListRow(std::span<const std::string> values) {
  std::vector<uint8_t> bytes;
  for (const std::string& value : values) {
    AppendVarint(value.size(), bytes);
    bytes.insert(bytes.end(), value.begin(), value.end());
  }
  return VariableRow(true, values.size(), bytes);
}

template <typename T>
FeatureRow FixedRow(std::span<const T> values) {
  FeatureRow row(values.size_bytes());
  std::memcpy(row.data(), values.data(), row.size());
  return row;
}

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DECODE_TESTING_VARIABLE_ROW_H_
