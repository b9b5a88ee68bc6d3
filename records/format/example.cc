#include "records/format/example.h"

#include "absl/strings/str_cat.h"
#include "records/format/example_walk.h"

namespace penstock {
namespace {

// The trace already has tags and lengths. The structure also depends on the encoded value of an
// unwanted field that has no length.
void TraceUnwanted(const WireField& field, WireTrace* trace) {
  if (trace != nullptr && field.type != WireType::kBytes) {
    trace->Add(field.value.data(), field.value.data() + field.value.size());
  }
}

const uint8_t* WalkEntry(std::span<const uint8_t> entry, WireTrace* trace, ExampleEntry& out) {
  WireReader reader(entry, trace);
  WireField field;
  out = {absl::string_view("", 0), entry.first(0)};
  while (reader.Next(field)) {
    if (field.type == WireType::kBytes && field.number == 1) {
      out.name = {reinterpret_cast<const char*>(field.value.data()), field.value.size()};
      if (trace != nullptr) {
        trace->Add(field.value.data(), field.value.data() + field.value.size());
      }
    } else if (field.type == WireType::kBytes && field.number == 2) {
      out.feature = field.value;
    } else {
      TraceUnwanted(field, trace);
    }
  }
  return reader.failed() ? reader.position() : nullptr;
}

}  // namespace

absl::string_view FeatureTypeName(FeatureType type) {
  switch (type) {
    case FeatureType::kNone:
      return "none";
    case FeatureType::kBytes:
      return "bytes";
    case FeatureType::kFloat:
      return "float";
    case FeatureType::kInt64:
      return "int64";
  }
  return "unknown";
}

const uint8_t* WalkEntries(std::span<const uint8_t> payload, ExampleMap map, WireTrace* trace,
                           absl::FunctionRef<void(const ExampleEntry&)> visit) {
  WireReader example(payload, trace);
  WireField features, field;
  while (example.Next(features)) {
    if (features.type != WireType::kBytes || features.number != static_cast<uint32_t>(map)) {
      TraceUnwanted(features, trace);
      continue;
    }
    WireReader reader(features.value, trace);
    while (reader.Next(field)) {
      if (field.type != WireType::kBytes || field.number != 1) {
        TraceUnwanted(field, trace);
        continue;
      }
      ExampleEntry entry;
      if (const uint8_t* broken = WalkEntry(field.value, trace, entry)) return broken;
      visit(entry);
    }
    if (reader.failed()) return reader.position();
  }
  return example.failed() ? example.position() : nullptr;
}

const uint8_t* WalkSteps(std::span<const uint8_t> feature_list, WireTrace* trace,
                         absl::FunctionRef<bool(std::span<const uint8_t>)> visit) {
  WireReader reader(feature_list, trace);
  WireField field;
  while (reader.Next(field)) {
    if (field.type != WireType::kBytes || field.number != 1) {
      TraceUnwanted(field, trace);
    } else if (!visit(field.value)) {
      return nullptr;
    }
  }
  return reader.failed() ? reader.position() : nullptr;
}

const uint8_t* WalkFeature(std::span<const uint8_t> feature, WireTrace* trace, FeatureLists& out) {
  WireReader reader(feature, trace);
  WireField field;
  out.type = FeatureType::kNone;
  out.lists.clear();
  while (reader.Next(field)) {
    if (field.type != WireType::kBytes || field.number > 3) {
      TraceUnwanted(field, trace);
      continue;
    }
    const auto type = static_cast<FeatureType>(field.number);
    // A oneof: another kind clears the earlier one, the same kind adds to it.
    if (type != out.type) out.lists.clear();
    out.type = type;
    out.lists.push_back(field.value);
  }
  return reader.failed() ? reader.position() : nullptr;
}

const uint8_t* WalkList(std::span<const uint8_t> list, FeatureType type, WireTrace* trace,
                        absl::FunctionRef<void(std::span<const uint8_t>)> visit) {
  WireReader reader(list, trace);
  WireField field;
  while (reader.Next(field)) {
    const bool run = field.type == WireType::kBytes;
    const bool number = (type == FeatureType::kInt64 && field.type == WireType::kVarint) ||
                        (type == FeatureType::kFloat && field.type == WireType::kFixed32);
    if (field.number != 1 || (!run && !number)) {
      TraceUnwanted(field, trace);
      continue;
    }
    if (type == FeatureType::kFloat && field.value.size() % 4 != 0) return field.value.data();
    visit(field.value);
  }
  return reader.failed() ? reader.position() : nullptr;
}

absl::Status BrokenExample(std::span<const uint8_t> payload, const uint8_t* where) {
  return absl::DataLossError(absl::StrCat("is no tf.train.Example: broken at byte ",
                                          where - payload.data(), " of ", payload.size()));
}

}  // namespace penstock
