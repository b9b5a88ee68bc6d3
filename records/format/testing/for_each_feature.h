// Reads whole tf.train.Examples in tests.
#ifndef PENSTOCK_RECORDS_FORMAT_TESTING_FOR_EACH_FEATURE_H_
#define PENSTOCK_RECORDS_FORMAT_TESTING_FOR_EACH_FEATURE_H_

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "records/format/example.h"
#include "records/format/example_walk.h"
#include "records/format/wire.h"

namespace penstock {

// One feature and its values. Points into the record.
struct FeatureView {
  absl::string_view name;
  FeatureType type = FeatureType::kNone;
  // The list of `type` is filled; the others are empty.
  std::vector<std::span<const uint8_t>> bytes;
  std::vector<float> floats;
  std::vector<int64_t> ints;

  size_t count() const { return bytes.size() + floats.size() + ints.size(); }
};

// Appends the values of one run to `view`.
inline const uint8_t* ReadRun(std::span<const uint8_t> run, FeatureView& view) {
  if (view.type == FeatureType::kBytes) {
    view.bytes.push_back(run);
  } else if (view.type == FeatureType::kFloat) {
    const size_t begin = view.floats.size();
    view.floats.resize(begin + run.size() / 4);
    if (!run.empty()) std::memcpy(view.floats.data() + begin, run.data(), run.size());
  } else {
    return ForEachVarint(run,
                         [&](uint64_t value) { view.ints.push_back(static_cast<int64_t>(value)); });
  }
  return nullptr;
}

inline const uint8_t* ReadFeature(std::span<const uint8_t> feature, FeatureLists& lists,
                                  FeatureView& view) {
  if (const uint8_t* broken = WalkFeature(feature, nullptr, lists)) return broken;
  view.type = lists.type;
  view.bytes.clear();
  view.floats.clear();
  view.ints.clear();
  const uint8_t* broken = nullptr;
  for (std::span<const uint8_t> list : lists.lists) {
    const uint8_t* at = WalkList(list, lists.type, nullptr, [&](std::span<const uint8_t> run) {
      if (broken == nullptr) broken = ReadRun(run, view);
    });
    if (at != nullptr || broken != nullptr) return at != nullptr ? at : broken;
  }
  return nullptr;
}

// Calls `visit` once for each name, in the order of first appearance. The view is valid during the
// call. Reads every value. Returns kDataLoss if the record is no tf.train.Example; the message has
// the offset.
inline absl::Status ForEachFeature(std::span<const uint8_t> payload,
                                   absl::FunctionRef<void(const FeatureView&)> visit) {
  std::vector<ExampleEntry> entries;
  const uint8_t* broken =
      WalkEntries(payload, ExampleMap::kFeatures, nullptr, [&](const ExampleEntry& entry) {
        for (ExampleEntry& known : entries) {
          if (known.name == entry.name) {
            known.feature = entry.feature;
            return;
          }
        }
        entries.push_back(entry);
      });
  if (broken != nullptr) return BrokenExample(payload, broken);
  FeatureLists lists;
  FeatureView view;
  for (const ExampleEntry& entry : entries) {
    view.name = entry.name;
    broken = ReadFeature(entry.feature, lists, view);
    if (broken != nullptr) return BrokenExample(payload, broken);
    visit(view);
  }
  return absl::OkStatus();
}

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_FORMAT_TESTING_FOR_EACH_FEATURE_H_
