// Writes protobuf's wire format field by field, valid or not, for tests.
#ifndef PENSTOCK_RECORDS_FORMAT_TESTING_WIRE_WRITER_H_
#define PENSTOCK_RECORDS_FORMAT_TESTING_WIRE_WRITER_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace penstock {

inline std::string Varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
  return out;
}

// A length-delimited field.
inline std::string Field(uint32_t number, const std::string& content) {
  return Varint(number << 3 | 2) + Varint(content.size()) + content;
}
inline std::string VarintField(uint32_t number, uint64_t value) {
  return Varint(number << 3) + Varint(value);
}
inline std::string Fixed32(float value) {
  char bytes[4];
  std::memcpy(bytes, &value, 4);
  return std::string(bytes, 4);
}
inline std::string FloatField(uint32_t number, float value) {
  return Varint(number << 3 | 5) + Fixed32(value);
}

// An entry of the map of features. `kinds` are fields of message Feature.
inline std::string Entry(const std::string& name, const std::string& kinds) {
  return Field(1, Field(1, name) + Field(2, kinds));
}
inline std::string BytesKind(const std::string& value) { return Field(1, Field(1, value)); }
inline std::string Int64Kind(int64_t value) {
  return Field(3, Field(1, Varint(static_cast<uint64_t>(value))));
}
inline std::string Example(const std::string& entries) { return Field(1, entries); }

// An entry of a SequenceExample's map of feature lists. Each step consists of fields of message
// Feature.
inline std::string ListEntry(const std::string& name, const std::vector<std::string>& steps) {
  std::string list;
  for (const std::string& step : steps) list += Field(1, step);
  return Field(1, Field(1, name) + Field(2, list));
}
inline std::string SequenceExample(const std::string& context, const std::string& lists) {
  return Field(1, context) + Field(2, lists);
}

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_FORMAT_TESTING_WIRE_WRITER_H_
