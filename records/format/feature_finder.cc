#include "records/format/feature_finder.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/load.h"

namespace penstock {
namespace {

// Returns the number of varints that end in `run`.
size_t CountVarints(std::span<const uint8_t> run) {
  return static_cast<size_t>(
      std::count_if(run.begin(), run.end(), [](uint8_t byte) { return byte < 0x80; }));
}

// Advice for the errors below, if a decode spec names the feature. The operations for which the
// advice works are in parentheses.
constexpr absl::string_view kLacking =
    ". To accept records without it, set `optional: true` (number, bytes, label) in the spec";
constexpr absl::string_view kAnyNumber =
    ". To accept any number, use `pad` or `ragged` (number, bytes) in the spec";
constexpr absl::string_view kAnyLength =
    ". To accept any length, use `pad` or `ragged` (bytes) in the spec";
constexpr absl::string_view kSeveral = ". To accept several, use `list` (bytes) in the spec";
constexpr absl::string_view kList = "; to read it, use `feature_list` in the spec";
constexpr absl::string_view kNoList = "; to read it, use `feature` in the spec";
constexpr absl::string_view kCut = " (`truncate: true` cuts the rest)";

// Returns false for a holdout rule, which may use a feature of any type, or bytes of any length.
bool IsOfSpec(const FeatureUse& use) {
  return use.type != FeatureType::kNone && (use.variable || use.count > 0);
}

}  // namespace

absl::StatusOr<FeatureFinder> FeatureFinder::Create(std::vector<FeatureUse> specs) {
  for (size_t i = 0; i < specs.size(); ++i) {
    const FeatureUse& spec = specs[i];
    if (spec.name.empty() && (spec.type != FeatureType::kBytes || spec.is_feature_list())) {
      return absl::InvalidArgumentError("the payload is bytes, not numbers or a feature list");
    }
    if (spec.type == FeatureType::kNone && !spec.variable) {
      return absl::InvalidArgumentError(absl::StrCat("feature '", spec.name, "' has no type"));
    }
    if (!spec.variable && spec.type != FeatureType::kBytes && spec.count == 0) {
      return absl::InvalidArgumentError(absl::StrCat("feature '", spec.name, "' of 0 values"));
    }
    for (size_t k = 0; k < i; ++k) {
      const bool same_map = spec.is_feature_list() == specs[k].is_feature_list();
      const bool any_type = spec.type == FeatureType::kNone || specs[k].type == FeatureType::kNone;
      if (specs[k].name == spec.name && same_map && !any_type) {
        return absl::InvalidArgumentError(absl::StrCat("feature '", spec.name, "' is named twice"));
      }
    }
  }
  return FeatureFinder(std::move(specs));
}

FeatureFinder::FeatureFinder(std::vector<FeatureUse> specs) : specs_(std::move(specs)) {
  size_t next[4] = {}, next_variable = 0;
  for (size_t i = 0; i < specs_.size(); ++i) {
    const FeatureUse& spec = specs_[i];
    has_sequences_ |= IsSequence(i);
    has_features_ |= !IsSequence(i) && !IsPayload(i);
    has_variable_ |= spec.variable.has_value();
    alternatives_.push_back(AlternativesOf(spec.name));
    shares_names_ |= spec.type == FeatureType::kNone || !alternatives_[i].empty();
    if (spec.variable) {
      slots_.push_back(next_variable++);
      continue;
    }
    size_t& slot = next[static_cast<size_t>(spec.type)];
    slots_.push_back(slot);
    slot += spec.type == FeatureType::kBytes ? 1 : spec.count;
  }
  plain_ = PlainFinder(specs_, slots_);
}

FoundFeatures FeatureFinder::MakeFound() const {
  FoundFeatures found;
  for (const FeatureUse& spec : specs_) {
    if (spec.variable) {
      found.variable.emplace_back();
    } else if (spec.type == FeatureType::kBytes) {
      found.bytes.emplace_back();
    } else if (spec.type == FeatureType::kInt64) {
      found.ints.resize(found.ints.size() + spec.count);
    } else {
      found.floats.resize(found.floats.size() + spec.count);
    }
  }
  return found;
}

bool FeatureFinder::ReadVariable(const Run& run, const uint8_t* payload, FoundFeatures& found) {
  const std::span<const uint8_t> bytes(payload + run.offset, run.size);
  FoundVariable& variable = found.variable[run.slot];
  variable.type = run.type;
  variable.runs.push_back(bytes);
  if (run.type != FeatureType::kInt64) {
    variable.count += run.count;
    return true;
  }
  // The same number of bytes can hold another number of varints.
  return ForEachVarint(bytes, [&variable](uint64_t) { ++variable.count; }) == nullptr;
}

inline bool FeatureFinder::ReadRun(const Run& run, const uint8_t* payload, FoundFeatures& found) {
  if (run.variable) return ReadVariable(run, payload, found);
  const uint8_t* p = payload + run.offset;
  const uint8_t* const end = p + run.size;
  switch (run.type) {
    case FeatureType::kBytes:
      found.bytes[run.slot] = {p, run.size};
      return true;
    case FeatureType::kFloat:
      std::memcpy(found.floats.data() + run.slot, p, run.size);
      return true;
    case FeatureType::kInt64:
      return ReadIntegers(p, end, run.count, found.ints.data() + run.slot) == end;
    case FeatureType::kNone:
      break;
  }
  return false;
}

void FeatureFinder::ClearVariable(const std::vector<bool>& present, FoundFeatures& found) const {
  for (size_t i = 0; i < specs_.size(); ++i) {
    if (!specs_[i].variable) continue;
    FoundVariable& variable = found.variable[slots_[i]];
    variable.Clear();
    variable.present = present[i];
  }
}

// Branches once for every few checks: usually all of them agree, or one of the first does not
// agree.
inline bool FeatureFinder::Agrees(std::span<const Check> checks, const uint8_t* payload) {
  constexpr size_t kFew = 8;
  while (!checks.empty()) {
    const std::span<const Check> few = checks.first(std::min(checks.size(), kFew));
    uint64_t different = 0;
    for (const Check& check : few) {
      different |= (Load64(payload + check.offset) & check.mask) ^ check.want;
    }
    if (different != 0) return false;
    checks = checks.subspan(few.size());
  }
  return true;
}

bool FeatureFinder::Replay(const Layout& layout, std::span<const uint8_t> payload,
                           FoundFeatures& found) const {
  if (!Agrees(layout.checks, payload.data())) return false;
  if (has_variable_) ClearVariable(layout.present, found);
  for (const Run& run : layout.runs) {
    if (!ReadRun(run, payload.data(), found)) return false;
  }
  return !has_variable_ || CheckVariables(found).ok();
}

void FeatureFinder::Note(const ExampleEntry& entry, bool sequence) {
  // Entries mostly come in the same order, so the spec after the last match is tried first.
  for (size_t k = 0; k < specs_.size(); ++k) {
    const size_t i = (expected_ + k) % specs_.size();
    if (IsSequence(i) != sequence || IsPayload(i) || !NoteFor(i, entry)) continue;
    if (shares_names_) continue;
    expected_ = i + 1;
    return;
  }
}

bool FeatureFinder::NoteFor(size_t i, const ExampleEntry& entry) {
  const std::vector<std::string>& alternatives = alternatives_[i];
  if (specs_[i].name != entry.name) {
    const bool is_one =
        std::find(alternatives.begin(), alternatives.end(), entry.name) != alternatives.end();
    if (!is_one) return false;
    Chosen& chosen = chosen_[i];
    if (chosen.name == specs_[i].name) return true;  // The full name takes precedence.
    if (!chosen.name.empty() && chosen.name != entry.name) chosen.other = chosen.name;
    chosen.name = entry.name;
  } else if (!alternatives.empty()) {
    chosen_[i] = {.name = entry.name, .other = {}};
  }
  features_[i] = entry.feature;
  present_[i] = true;
  return true;
}

const uint8_t* FeatureFinder::WalkRecord(std::span<const uint8_t> payload) {
  expected_ = 0;
  if (has_features_) {
    const auto note = [this](const ExampleEntry& entry) { Note(entry, false); };
    const uint8_t* broken = WalkEntries(payload, ExampleMap::kFeatures, tracing_, note);
    if (broken != nullptr) return broken;
  }
  if (!has_sequences_) return nullptr;
  const auto note = [this](const ExampleEntry& entry) { Note(entry, true); };
  return WalkEntries(payload, ExampleMap::kFeatureLists, tracing_, note);
}

bool FeatureFinder::CountWalk() {
  ++walks_;
  const uint32_t weight = plain_.possible() ? kOften : walks_ % kRarely == 0;
  alike_ -= std::min(alike_, weight);
  return alike_ > 0 || walks_ % kProbe == 0;
}

absl::Status FeatureFinder::Walk(std::span<const uint8_t> payload, FoundFeatures& found) {
  if (payload.size() > std::numeric_limits<uint32_t>::max()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("an example of ", payload.size(), " bytes is over the limit of 4 GiB"));
  }
  tracing_ = CountWalk() ? &trace_ : nullptr;
  if (tracing_ == nullptr && plain_.Find(payload, found)) return absl::OkStatus();
  trace_.Clear();
  runs_.clear();
  features_.assign(specs_.size(), {});
  present_.assign(specs_.size(), false);
  if (shares_names_) chosen_.assign(specs_.size(), {});
  if (const uint8_t* broken = WalkRecord(payload)) return BrokenExample(payload, broken);
  for (size_t i = 0; i < specs_.size(); ++i) {
    if (absl::Status status = WalkSpec(i, payload, found); !status.ok()) return status;
  }
  if (has_variable_) {
    ClearVariable(present_, found);
    for (const Run& run : runs_) {
      if (run.variable && !ReadRun(run, payload.data(), found)) {
        return BrokenExample(payload, payload.data() + run.offset);
      }
    }
  }
  if (tracing_ != nullptr) Remember(payload);
  return absl::OkStatus();
}

absl::Status FeatureFinder::WalkSpec(size_t i, std::span<const uint8_t> payload,
                                     FoundFeatures& found) {
  const size_t first_run = runs_.size();
  Tally tally;
  if (IsPayload(i)) {
    present_[i] = true;
    lists_.type = FeatureType::kBytes;
    tally = {1, payload.size()};
    runs_.push_back({FeatureType::kBytes, specs_[i].variable.has_value(),
                     static_cast<uint32_t>(slots_[i]), 1, 0,
                     static_cast<uint32_t>(payload.size())});
  } else if (shares_names_ && !chosen_[i].other.empty()) {
    return TwoAlternatives(i);
  } else if (present_[i]) {
    absl::Status status =
        IsSequence(i) ? WalkSteps(i, payload, tally) : WalkFeatureOf(i, payload, tally);
    if (!status.ok()) return status;
  }
  if (!present_[i]) return IsOptional(i) ? absl::OkStatus() : Missing(i, payload);
  if (specs_[i].variable) return CheckVariable(i, tally);
  if (absl::Status status = CheckFixed(i, tally); !status.ok()) return status;
  for (size_t run = first_run; run < runs_.size(); ++run) {
    if (!ReadRun(runs_[run], payload.data(), found)) {
      return BrokenExample(payload, payload.data() + runs_[run].offset);
    }
  }
  return absl::OkStatus();
}

// As in TensorFlow, a feature of no kind counts as missing.
absl::Status FeatureFinder::WalkFeatureOf(size_t i, std::span<const uint8_t> payload,
                                          Tally& tally) {
  if (const uint8_t* broken = WalkFeature(features_[i], tracing_, lists_)) {
    return BrokenExample(payload, broken);
  }
  present_[i] = lists_.type != FeatureType::kNone;
  return present_[i] ? WalkLists(i, payload, tally) : absl::OkStatus();
}

absl::Status FeatureFinder::WalkSteps(size_t i, std::span<const uint8_t> payload, Tally& tally) {
  const FeatureUse& spec = specs_[i];
  uint64_t step = 0;
  absl::Status status;
  const uint8_t* broken =
      penstock::WalkSteps(features_[i], tracing_, [&](std::span<const uint8_t> feature) {
        const uint8_t* at = WalkFeature(feature, tracing_, lists_);
        Tally values;
        status = at != nullptr ? BrokenExample(payload, at) : WalkLists(i, payload, values);
        if (status.ok() && values.count != spec.variable->multiple) {
          status = absl::InvalidArgumentError(
              absl::StrCat("step ", step, " of feature list '", spec.name, "' has ", values.count,
                           " values, but the spec expects ", spec.variable->multiple));
        }
        tally.count += values.count;
        tally.bytes += values.bytes;
        ++step;
        return status.ok();
      });
  return broken != nullptr ? BrokenExample(payload, broken) : status;
}

absl::Status FeatureFinder::WalkLists(size_t i, std::span<const uint8_t> payload, Tally& tally) {
  const FeatureUse& spec = specs_[i];
  const FeatureType type = spec.type == FeatureType::kNone ? lists_.type : spec.type;
  if (lists_.type != type && lists_.type != FeatureType::kNone) {
    return absl::InvalidArgumentError(
        absl::StrCat("feature '", ShownName(spec), "' holds ", FeatureTypeName(lists_.type),
                     ", but the spec expects ", FeatureTypeName(spec.type)));
  }
  const uint32_t max_bytes = spec.variable ? spec.variable->max_bytes : VariableUse::kAny;
  size_t longest = 0;
  for (std::span<const uint8_t> list : lists_.lists) {
    const uint8_t* broken = WalkList(list, type, tracing_, [&](std::span<const uint8_t> value) {
      size_t values = 1;
      if (type == FeatureType::kFloat) values = value.size() / 4;
      if (type == FeatureType::kInt64) values = CountVarints(value);
      const size_t slot = slots_[i] + (spec.variable ? 0 : tally.count);
      runs_.push_back({type, spec.variable.has_value(), static_cast<uint32_t>(slot),
                       static_cast<uint32_t>(values),
                       static_cast<uint32_t>(value.data() - payload.data()),
                       static_cast<uint32_t>(value.size())});
      tally.count += values;
      tally.bytes += value.size();
      longest = std::max(longest, value.size());
    });
    if (broken != nullptr) return BrokenExample(payload, broken);
  }
  if (type == FeatureType::kBytes && longest > max_bytes) {
    return absl::InvalidArgumentError(absl::StrCat("a value of feature '", spec.name, "' has ",
                                                   longest, " bytes, but the spec takes at most ",
                                                   max_bytes, kCut));
  }
  return absl::OkStatus();
}

absl::Status FeatureFinder::CheckFixed(size_t i, const Tally& tally) const {
  const FeatureUse& spec = specs_[i];
  const bool is_bytes = spec.type == FeatureType::kBytes;
  if (tally.count != (is_bytes ? 1 : spec.count)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "feature '", spec.name, "' has ", tally.count, " values, but the spec expects ",
        is_bytes ? 1 : spec.count, is_bytes ? kSeveral : kAnyNumber));
  }
  if (is_bytes && spec.count != 0 && tally.bytes != spec.count) {
    return absl::InvalidArgumentError(absl::StrCat("feature '", ShownName(spec), "' has ",
                                                   tally.bytes, " bytes, but the spec expects ",
                                                   spec.count, kAnyLength));
  }
  return absl::OkStatus();
}

absl::Status FeatureFinder::CheckVariable(size_t i, const Tally& tally) const {
  const FeatureUse& spec = specs_[i];
  const VariableUse& use = *spec.variable;
  const bool one_value = spec.type == FeatureType::kBytes && !use.list;
  if (one_value && tally.count != 1) {
    return absl::InvalidArgumentError(absl::StrCat("feature '", spec.name, "' has ", tally.count,
                                                   " values, but the spec expects 1", kSeveral));
  }
  const uint64_t count = one_value ? tally.bytes : tally.count;
  if (use.Allows(count)) return absl::OkStatus();
  const absl::string_view unit = one_value ? " bytes" : " values";
  const auto refuse = [&](absl::string_view wanted, uint64_t limit, absl::string_view advice = "") {
    return absl::InvalidArgumentError(absl::StrCat("feature '", ShownName(spec), "' has ", count,
                                                   unit, ", but the spec ", wanted, " ", limit,
                                                   advice));
  };
  if (use.min_count == use.max_count && count != use.min_count) {
    return refuse("expects", use.min_count, one_value ? kAnyLength : kAnyNumber);
  }
  if (count < use.min_count) return refuse("expects at least", use.min_count);
  if (count > use.max_count) return refuse("takes at most", use.max_count, kCut);
  if (count % use.multiple != 0) return refuse("expects a multiple of", use.multiple);
  return refuse("can have at most", kMaxVariableCount);
}

absl::Status FeatureFinder::CheckVariables(const FoundFeatures& found) const {
  for (size_t i = 0; i < specs_.size(); ++i) {
    // All other checks depend only on the structure.
    if (!specs_[i].variable || specs_[i].type != FeatureType::kInt64) continue;
    const FoundVariable& variable = found.variable[slots_[i]];
    if (!variable.present) continue;
    if (absl::Status status = CheckVariable(i, {variable.count, 0}); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status FeatureFinder::TwoAlternatives(size_t i) const {
  return absl::InvalidArgumentError(absl::StrCat(
      "the record has both '", chosen_[i].other, "' and '", chosen_[i].name, "', but feature '",
      specs_[i].name, "' may match only one: name the one to read in the spec"));
}

absl::Status FeatureFinder::Missing(size_t i, std::span<const uint8_t> payload) const {
  const FeatureUse& spec = specs_[i];
  std::vector<absl::string_view> names;
  bool in_other_map = false;
  // Broken maps are ignored, because this only lists names.
  WalkEntries(payload, IsSequence(i) ? ExampleMap::kFeatureLists : ExampleMap::kFeatures, nullptr,
              [&](const ExampleEntry& entry) {
                if (names.size() < 16) names.push_back(entry.name);
              });
  WalkEntries(payload, IsSequence(i) ? ExampleMap::kFeatures : ExampleMap::kFeatureLists, nullptr,
              [&](const ExampleEntry& entry) { in_other_map |= StandsFor(spec.name, entry.name); });
  std::string text = absl::StrCat(IsSequence(i) ? "feature list '" : "feature '", spec.name,
                                  "' is missing or empty; the record has ",
                                  names.empty() ? "none" : absl::StrJoin(names, ", "));
  if (in_other_map) {
    absl::StrAppend(&text, ", and a ", IsSequence(i) ? "feature" : "feature list", " '", spec.name,
                    "'");
  }
  if (IsOfSpec(spec)) {
    absl::StrAppend(&text, !in_other_map ? kLacking : IsSequence(i) ? kNoList : kList);
  }
  return absl::InvalidArgumentError(text);
}

void FeatureFinder::Remember(std::span<const uint8_t> payload) {
  Layout& layout = layouts_[payload.size() % kLayouts];
  layout.payload_size = ~size_t{0};
  if (payload.size() < sizeof(uint64_t)) return;  // Too short for a comparison.
  layout.checks.clear();
  const uint32_t last = static_cast<uint32_t>(payload.size() - sizeof(uint64_t));
  for (auto [begin, end] : trace_.ranges()) {
    while (begin < end) {
      const auto offset = static_cast<uint32_t>(begin - payload.data());
      const size_t size = std::min<size_t>(8, static_cast<size_t>(end - begin));
      uint64_t mask = size == 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * size) - 1;
      // Near the end, the 8 bytes begin earlier.
      const uint32_t at = std::min(offset, last);
      mask <<= 8 * (offset - at);
      layout.checks.push_back({at, mask, Load64(payload.data() + at) & mask});
      begin += size;
    }
  }
  layout.runs = runs_;
  layout.present = present_;
  layout.payload_size = payload.size();
}

}  // namespace penstock
