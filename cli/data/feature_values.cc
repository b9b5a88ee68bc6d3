#include "cli/data/feature_values.h"

#include "records/format/example_walk.h"

namespace penstock {
namespace {

// Calls `visit` with the lists of each feature that has values of `type`.
void ForEachFeature(
    std::span<const uint8_t> payload, FeatureType type,
    absl::FunctionRef<void(absl::string_view name, const FeatureLists& lists)> visit) {
  FeatureLists lists;
  WalkEntries(payload, ExampleMap::kFeatures, nullptr, [&](const ExampleEntry& entry) {
    if (WalkFeature(entry.feature, nullptr, lists) == nullptr && lists.type == type) {
      visit(entry.name, lists);
    }
  });
}

}  // namespace

void ForEachBytesValue(
    RecordFormat format, std::span<const uint8_t> payload,
    absl::FunctionRef<void(absl::string_view feature, std::span<const uint8_t> value)> visit) {
  if (format == RecordFormat::kRaw) return visit(kRawFeature, payload);
  ForEachFeature(payload, FeatureType::kBytes,
                 [&](absl::string_view name, const FeatureLists& lists) {
                   for (const std::span<const uint8_t> list : lists.lists) {
                     WalkList(list, lists.type, nullptr,
                              [&](std::span<const uint8_t> value) { visit(name, value); });
                   }
                 });
}

std::optional<std::span<const uint8_t>> FirstBytes(RecordFormat format,
                                                   std::span<const uint8_t> payload,
                                                   absl::string_view feature) {
  std::optional<std::span<const uint8_t>> first;
  ForEachBytesValue(format, payload, [&](absl::string_view name, std::span<const uint8_t> value) {
    if (!first && name == feature) first = value;
  });
  return first;
}

std::optional<int64_t> FirstInt(std::span<const uint8_t> payload, absl::string_view feature) {
  std::optional<int64_t> first;
  ForEachFeature(payload, FeatureType::kInt64,
                 [&](absl::string_view name, const FeatureLists& lists) {
                   if (first || name != feature) return;
                   for (const std::span<const uint8_t> list : lists.lists) {
                     WalkList(list, lists.type, nullptr, [&](std::span<const uint8_t> run) {
                       ForEachVarint(run, [&](uint64_t value) {
                         if (!first) first = static_cast<int64_t>(value);
                       });
                     });
                   }
                 });
  return first;
}

}  // namespace penstock
