#include "records/dataset/feature_info.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/text.h"

namespace penstock {
namespace {

constexpr uint32_t kChessBytes = 194;
constexpr absl::string_view kNoType = "none";
// With fewer records, an optional feature may be present in each of them by chance.
constexpr uint64_t kEnoughRecords = 8;

void Widen(const ValueRange& from, ValueRange& into) {
  into.min = std::min(into.min, from.min);
  into.max = std::max(into.max, from.max);
}

void MergeFeature(const FeatureInfo& from, FeatureInfo& into) {
  // Without values there are no lengths.
  if (into.values.max == 0) into.bytes = from.bytes;
  if (into.values.max == 0) into.step_values = from.step_values;
  if (from.values.max > 0) {
    Widen(from.bytes, into.bytes);
    Widen(from.step_values, into.step_values);
  }
  Widen(from.values, into.values);
  into.records += from.records;
  into.images += from.images;
  into.grey16 += from.grey16;
}

bool SameName(const FeatureInfo& a, const FeatureInfo& b) {
  return a.name == b.name && a.feature_list == b.feature_list;
}

bool HasSameName(const FeatureSummary& summary, const FeatureInfo& feature) {
  return std::any_of(summary.features.begin(), summary.features.end(),
                     [&](const FeatureInfo& other) { return SameName(other, feature); });
}

std::string Title(const FeatureInfo& feature) {
  return absl::StrCat(feature.feature_list ? "feature list '" : "'", feature.name, "'");
}

// Describes the first feature of both that has no type in common. Returns an empty string if there
// is none.
std::string TypeDifference(const FeatureSummary& a, const FeatureSummary& b) {
  for (const FeatureInfo& feature : a.features) {
    const FeatureInfo* other = nullptr;
    bool same = feature.type == kNoType;
    for (const FeatureInfo& candidate : b.features) {
      if (!SameName(candidate, feature)) continue;
      other = &candidate;
      same |= candidate.type == feature.type || candidate.type == kNoType;
    }
    if (other != nullptr && !same) {
      return absl::StrCat(Title(feature), " is ", feature.type, " in the first and ", other->type,
                          " in the second");
    }
  }
  return "";
}

// Describes the first feature that is in all records of `has` and in none of `lacks`. Returns an
// empty string if there is none.
std::string PresenceDifference(const FeatureSummary& has, const FeatureSummary& lacks,
                               absl::string_view which, absl::string_view other) {
  for (const FeatureInfo& feature : has.features) {
    if (feature.type != kNoType && has.InAll(feature) && !HasSameName(lacks, feature)) {
      return absl::StrCat(Title(feature), " (", feature.type, ") is in the records of the ", which,
                          " and not in those of the ", other);
    }
  }
  return "";
}

}  // namespace

std::string ValueRange::ToText() const {
  return fixed() ? absl::StrCat(min) : absl::StrCat(min, "-", max);
}

void Merge(const FeatureSummary& from, FeatureSummary& into) {
  for (const FeatureInfo& feature : from.features) {
    const auto known =
        std::find_if(into.features.begin(), into.features.end(), [&](const FeatureInfo& info) {
          return SameName(info, feature) && info.type == feature.type;
        });
    if (known == into.features.end()) {
      into.features.push_back(feature);
    } else {
      MergeFeature(feature, *known);
    }
  }
  into.records += from.records;
}

FeatureSummary Canonical(FeatureSummary summary) {
  const auto untyped =
      std::stable_partition(summary.features.begin(), summary.features.end(),
                            [](const FeatureInfo& feature) { return feature.type != kNoType; });
  FeatureSummary all{summary.records, {summary.features.begin(), untyped}};
  const FeatureIndex index(all);
  std::vector<FeatureInfo> only_untyped;
  for (auto feature = untyped; feature != summary.features.end(); ++feature) {
    if (!index.HasName(*feature)) only_untyped.push_back(*feature);
    if (const std::optional<size_t> i = index.Find(*feature))
      MergeFeature(*feature, all.features[*i]);
  }
  all.features.insert(all.features.end(), only_untyped.begin(), only_untyped.end());
  std::sort(
      all.features.begin(), all.features.end(), [](const FeatureInfo& a, const FeatureInfo& b) {
        return std::tie(a.name, a.feature_list, a.type) < std::tie(b.name, b.feature_list, b.type);
      });
  return all;
}

FeatureIndex::FeatureIndex(const FeatureSummary& summary) {
  for (size_t i = 0; i < summary.features.size(); ++i) {
    const FeatureInfo& feature = summary.features[i];
    index_.emplace(Key(feature.name, feature.feature_list, feature.type), i);
  }
}

std::optional<size_t> FeatureIndex::Find(const FeatureInfo& feature) const {
  const auto exact = index_.find(Key(feature.name, feature.feature_list, feature.type));
  if (exact != index_.end()) return exact->second;
  if (feature.type != kNoType || !feature.feature_list || !HasName(feature)) return std::nullopt;
  return FirstOf(feature)->second;
}

bool FeatureIndex::HasName(const FeatureInfo& feature) const {
  const auto first = FirstOf(feature);
  return first != index_.end() && std::get<0>(first->first) == feature.name &&
         std::get<1>(first->first) == feature.feature_list;
}

FeatureIndex::Map::const_iterator FeatureIndex::FirstOf(const FeatureInfo& feature) const {
  return index_.lower_bound(Key(feature.name, feature.feature_list, ""));
}

bool IsOneValue(const FeatureInfo& feature, absl::string_view name, absl::string_view type) {
  return feature.name == name && feature.type == type && !feature.feature_list &&
         feature.values == ValueRange{1, 1};
}

bool HasChessFeatures(const FeatureSummary& summary) {
  bool board = false, score = false;
  for (const FeatureInfo& feature : summary.features) {
    if (!summary.InAll(feature)) continue;
    board |=
        IsOneValue(feature, "d", "bytes") && feature.bytes == ValueRange{kChessBytes, kChessBytes};
    score |= IsOneValue(feature, "s", "int64");
  }
  return board && score;
}

bool HoldsImages(const FeatureInfo& feature) {
  if (feature.type != "bytes" || feature.feature_list) return false;
  if (feature.name == kImageFeature) return true;
  return feature.images > 0 && feature.images >= feature.records - feature.images;
}

bool HasSampleImages(const FeatureSummary& summary) {
  uint64_t images = 0, classes = 0;
  for (const FeatureInfo& feature : summary.features) {
    const bool is_image = StandsFor(kSampleImage, feature.name) && HoldsImages(feature);
    if (is_image && feature.values == ValueRange{1, 1}) images += feature.records;
    if (IsOneValue(feature, kSampleClass, "int64")) classes += feature.records;
  }
  return images > 0 && images == summary.records && classes == summary.records;
}

absl::string_view RowsName(const FeatureSummary& summary) {
  return HasChessFeatures(summary) ? "positions" : "rows";
}

std::string DefaultHoldoutFeature(const FeatureSummary& summary) {
  if (HasChessFeatures(summary)) return "d";
  for (const FeatureInfo& feature : summary.features) {
    if (IsOneValue(feature, kImageFeature, "bytes") && summary.InAll(feature)) {
      return feature.name;
    }
  }
  return "";
}

std::string FeatureDifference(const FeatureSummary& a, const FeatureSummary& b) {
  if (a.features.empty() || b.features.empty()) return "";
  if (std::string types = TypeDifference(a, b); !types.empty()) return types;
  const bool enough = a.records >= kEnoughRecords && b.records >= kEnoughRecords;
  const bool alike = std::any_of(a.features.begin(), a.features.end(),
                                 [&](const FeatureInfo& f) { return HasSameName(b, f); });
  if (alike && !enough) return "";
  std::string difference = PresenceDifference(a, b, "first", "second");
  return difference.empty() ? PresenceDifference(b, a, "second", "first") : difference;
}

std::string Describe(const FeatureInfo& feature, uint64_t records) {
  std::string text = absl::StrCat(feature.name, ": ", feature.type);
  const bool bytes = feature.type == "bytes";
  if (feature.feature_list) {
    absl::StrAppend(&text, ", a list of ", feature.values.ToText(), " steps of ",
                    feature.step_values.ToText(), " values");
  } else if (feature.type != kNoType && (!bytes || feature.values != ValueRange{1, 1})) {
    absl::StrAppend(&text, ", values ", feature.values.ToText());
  }
  if (bytes) absl::StrAppend(&text, ", length ", feature.bytes.ToText());
  if (feature.records > 0 && feature.records < records) {
    absl::StrAppend(&text, ", in ", feature.records, " of ", records, " records");
  }
  if (feature.grey16 > 0) {
    absl::StrAppend(&text, ", PNG with 16-bit grey in ",
                    Counted(feature.grey16, "record", "records"));
  }
  return text;
}

std::string NamesOf(std::span<const FeatureInfo> features) {
  constexpr size_t kMost = 16;
  std::string text;
  for (const FeatureInfo& feature : features.first(std::min(features.size(), kMost))) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", feature.name, " (",
                    feature.feature_list ? "list of " : "", feature.type, ")");
  }
  if (features.size() > kMost) {
    absl::StrAppend(&text, " and ", features.size() - kMost, " more");
  }
  return text.empty() ? "none" : text;
}

}  // namespace penstock
