#include "records/dataset/feature_survey.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "records/format/wire.h"
#include "records/image/headers.h"

namespace penstock {
namespace {

constexpr size_t kMaxUnread = 16;

uint32_t Saturated(uint64_t count) {
  return static_cast<uint32_t>(std::min<uint64_t>(count, std::numeric_limits<uint32_t>::max()));
}

void Take(uint64_t count, ValueRange& range) {
  range.min = std::min(range.min, Saturated(count));
  range.max = std::max(range.max, Saturated(count));
}

void Take(const ValueRange& from, ValueRange& range) {
  range.min = std::min(range.min, from.min);
  range.max = std::max(range.max, from.max);
}

}  // namespace

absl::Status FeatureSurvey::Add(std::span<const uint8_t> payload) {
  PENSTOCK_RETURN_IF_ERROR(Read(payload));
  Keep();
  return absl::OkStatus();
}

absl::Status FeatureSurvey::Read(std::span<const uint8_t> payload) {
  entries_.clear();
  expected_ = 0;
  if (format_ != RecordFormat::kRaw) return ReadExample(payload);
  Values whole{FeatureType::kBytes, 1};
  Take(payload.size(), whole.bytes);
  entries_.push_back({RowOf(kRawFeature, false), payload, whole});
  return absl::OkStatus();
}

void FeatureSurvey::Keep() {
  ++records_;
  for (const Entry& entry : entries_) Keep(entry);
}

absl::Status FeatureSurvey::ReadExample(std::span<const uint8_t> payload) {
  for (const bool list : {false, true}) {
    const ExampleMap map = list ? ExampleMap::kFeatureLists : ExampleMap::kFeatures;
    const auto find = [this, list](const ExampleEntry& entry) { Find(entry, list); };
    if (const uint8_t* broken = WalkEntries(payload, map, nullptr, find)) {
      return BrokenExample(payload, broken);
    }
  }
  for (Entry& entry : entries_) {
    const Row& row = rows_[entry.row];
    const uint8_t* broken =
        row.list ? ReadSteps(entry) : ReadFeature(entry.feature, row, entry.values);
    if (broken != nullptr) return BrokenExample(payload, broken);
  }
  NoteUnread(payload);
  return absl::OkStatus();
}

void FeatureSurvey::Find(const ExampleEntry& entry, bool list) {
  const size_t i = RowOf(entry.name, list);
  if (i == rows_.size()) return;
  Row& row = rows_[i];
  expected_ = i + 1;
  if (row.last_entry < entries_.size() && entries_[row.last_entry].row == i) {
    entries_[row.last_entry].feature = entry.feature;
    return;
  }
  row.last_entry = entries_.size();
  entries_.push_back({i, entry.feature, {}});
}

// Returns rows_.size() if there are already kMaxFeatures rows.
size_t FeatureSurvey::RowOf(absl::string_view name, bool list) {
  if (expected_ < rows_.size() && rows_[expected_].name == name && rows_[expected_].list == list) {
    return expected_;
  }
  auto& index = index_[list];
  const auto known = index.find(name);
  if (known != index.end()) return known->second;
  if (rows_.size() == kMaxFeatures) {
    Note(absl::StrCat("features beyond the first ", kMaxFeatures, ", which are not listed"));
    return rows_.size();
  }
  rows_.emplace_back();
  rows_.back().name = std::string(name);
  rows_.back().list = list;
  index.emplace(std::string(name), rows_.size() - 1);
  return rows_.size() - 1;
}

const uint8_t* FeatureSurvey::ReadSteps(Entry& entry) {
  const Row& row = rows_[entry.row];
  Values& values = entry.values;
  const uint8_t* broken = nullptr;
  const uint8_t* at = WalkSteps(entry.feature, nullptr, [&](std::span<const uint8_t> feature) {
    const uint64_t before = values.count;
    broken = ReadFeature(feature, row, values);
    Take(values.count - before, values.step_values);
    ++values.steps;
    return broken == nullptr;
  });
  return at != nullptr ? at : broken;
}

const uint8_t* FeatureSurvey::ReadFeature(std::span<const uint8_t> feature, const Row& row,
                                          Values& values) {
  if (const uint8_t* broken = WalkFeature(feature, nullptr, lists_)) return broken;
  NoteKinds(feature, row);
  if (lists_.type != FeatureType::kNone) values.type = lists_.type;
  const uint8_t* broken = nullptr;
  for (const std::span<const uint8_t> list : lists_.lists) {
    const auto count = [&](std::span<const uint8_t> run) {
      if (lists_.type == FeatureType::kInt64) {
        if (broken == nullptr) broken = ForEachVarint(run, [&](uint64_t) { ++values.count; });
      } else if (lists_.type == FeatureType::kFloat) {
        values.count += run.size() / sizeof(float);
      } else {
        ++values.count;
        Take(run.size(), values.bytes);
        values.images += LooksLikeImage(run);
        values.grey16 |= IsGrey16Png(run);
      }
    };
    const uint8_t* at = WalkList(list, lists_.type, nullptr, count);
    if (at != nullptr || broken != nullptr) return at != nullptr ? at : broken;
  }
  return nullptr;
}

void FeatureSurvey::NoteUnread(std::span<const uint8_t> payload) {
  WireReader reader(payload);
  WireField field;
  while (reader.Next(field)) {
    if (field.type == WireType::kBytes && (field.number == 1 || field.number == 2)) continue;
    Note(absl::StrCat("field ", field.number, " of the record"));
  }
}

void FeatureSurvey::NoteKinds(std::span<const uint8_t> feature, const Row& row) {
  WireReader reader(feature);
  WireField field;
  while (reader.Next(field)) {
    if (field.type == WireType::kBytes && field.number <= 3) continue;
    Note(absl::StrCat("field ", field.number, " of feature ", row.list ? "list '" : "'", row.name,
                      "'"));
  }
}

void FeatureSurvey::Note(std::string what) {
  if (unread_.size() == kMaxUnread) return;
  if (std::find(unread_.begin(), unread_.end(), what) == unread_.end()) {
    unread_.push_back(std::move(what));
  }
}

void FeatureSurvey::Keep(const Entry& entry) {
  const Values& values = entry.values;
  Row& row = rows_[entry.row];
  FeatureInfo& info = row.by_type[static_cast<size_t>(values.type)];
  if (info.records++ == 0) {
    info.name = row.name;
    info.type = std::string(FeatureTypeName(values.type));
    info.feature_list = row.list;
    info.values = info.bytes = info.step_values = kNoRange;
  }
  info.images += values.images > 0 && values.images == values.count;
  info.grey16 += values.grey16;
  Take(row.list ? values.steps : values.count, info.values);
  Take(values.bytes, info.bytes);
  Take(values.step_values, info.step_values);
}

void FeatureSurvey::Append(const Row& row, std::vector<FeatureInfo>& out) {
  const size_t begin = out.size();
  for (size_t type = 1; type < row.by_type.size(); ++type) {
    if (row.by_type[type].records > 0) out.push_back(row.by_type[type]);
  }
  const FeatureInfo& empty = row.by_type[0];
  if (empty.records > 0 && out.size() == begin) {
    out.push_back(empty);
  } else if (empty.records > 0 && row.list) {
    // A list without steps is present, although it has no type. A feature without a kind is
    // missing.
    out[begin].records += empty.records;
    Take(empty.values, out[begin].values);
  }
  for (size_t i = begin; i < out.size(); ++i) {
    for (ValueRange* range : {&out[i].values, &out[i].bytes, &out[i].step_values}) {
      if (*range == kNoRange) *range = {};
    }
  }
}

FeatureSummary FeatureSurvey::Summary() const {
  FeatureSummary summary{records_, {}};
  for (const Row& row : rows_) Append(row, summary.features);
  return summary;
}

RecordFormat FormatOf(std::span<const uint8_t> payload) {
  FeatureSurvey examples;
  return examples.Add(payload).ok() ? RecordFormat::kExample : RecordFormat::kRaw;
}

}  // namespace penstock
