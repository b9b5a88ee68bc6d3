#include "records/format/feature_finder.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/load.h"

namespace penstock {
namespace {

// How many varints end in `run`.
size_t CountVarints(std::span<const uint8_t> run) {
  return static_cast<size_t>(
      std::count_if(run.begin(), run.end(), [](uint8_t byte) { return byte < 0x80; }));
}

}  // namespace

absl::StatusOr<FeatureFinder> FeatureFinder::Create(std::vector<FeatureUse> specs) {
  for (size_t i = 0; i < specs.size(); ++i) {
    const FeatureUse& spec = specs[i];
    if (spec.name.empty()) return absl::InvalidArgumentError("a feature has no name");
    if (spec.type == FeatureType::kNone) {
      return absl::InvalidArgumentError(absl::StrCat("feature '", spec.name, "' has no type"));
    }
    if (spec.type != FeatureType::kBytes && spec.count == 0) {
      return absl::InvalidArgumentError(absl::StrCat("feature '", spec.name, "' of 0 values"));
    }
    for (size_t k = 0; k < i; ++k) {
      if (specs[k].name == spec.name) {
        return absl::InvalidArgumentError(absl::StrCat("feature '", spec.name, "' is named twice"));
      }
    }
  }
  return FeatureFinder(std::move(specs));
}

FeatureFinder::FeatureFinder(std::vector<FeatureUse> specs) : specs_(std::move(specs)) {
  size_t next[4] = {};
  for (const FeatureUse& spec : specs_) {
    size_t& slot = next[static_cast<size_t>(spec.type)];
    slots_.push_back(slot);
    slot += spec.type == FeatureType::kBytes ? 1 : spec.count;
  }
}

FoundFeatures FeatureFinder::MakeFound() const {
  FoundFeatures found;
  for (const FeatureUse& spec : specs_) {
    if (spec.type == FeatureType::kBytes) found.bytes.emplace_back();
    if (spec.type == FeatureType::kInt64) found.ints.resize(found.ints.size() + spec.count);
    if (spec.type == FeatureType::kFloat) found.floats.resize(found.floats.size() + spec.count);
  }
  return found;
}

inline bool FeatureFinder::ReadRun(const Run& run, const uint8_t* payload, FoundFeatures& found) {
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
      for (uint32_t i = 0; i < run.count; ++i) {
        uint64_t value;
        p = ReadVarint(p, end, value);
        if (p == nullptr) return false;
        found.ints[run.slot + i] = static_cast<int64_t>(value);
      }
      return p == end;
    case FeatureType::kNone:
      break;
  }
  return false;
}

bool FeatureFinder::Replay(const Layout& layout, std::span<const uint8_t> payload,
                           FoundFeatures& found) {
  uint64_t different = 0;
  for (const Check& check : layout.checks) {
    different |= (Load64(payload.data() + check.offset) & check.mask) ^ check.want;
  }
  if (different != 0) return false;
  for (const Run& run : layout.runs) {
    if (!ReadRun(run, payload.data(), found)) return false;
  }
  return true;
}

absl::Status FeatureFinder::Walk(std::span<const uint8_t> payload, FoundFeatures& found) {
  if (payload.size() > std::numeric_limits<uint32_t>::max()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("an example of ", payload.size(), " bytes is over the limit of 4 GiB"));
  }
  trace_.Clear();
  runs_.clear();
  features_.assign(specs_.size(), {});
  present_.assign(specs_.size(), false);
  const uint8_t* broken = WalkEntries(payload, &trace_, [this](const ExampleEntry& entry) {
    for (size_t i = 0; i < specs_.size(); ++i) {
      if (specs_[i].name != entry.name) continue;
      features_[i] = entry.feature;
      present_[i] = true;
    }
  });
  if (broken != nullptr) return BrokenExample(payload, broken);
  for (size_t i = 0; i < specs_.size(); ++i) {
    if (!present_[i]) return Missing(i, payload);
    if (absl::Status status = WalkSpec(i, payload, found); !status.ok()) return status;
  }
  Remember(payload);
  return absl::OkStatus();
}

absl::Status FeatureFinder::WalkSpec(size_t i, std::span<const uint8_t> payload,
                                     FoundFeatures& found) {
  const FeatureUse& spec = specs_[i];
  if (const uint8_t* broken = WalkFeature(features_[i], &trace_, lists_)) {
    return BrokenExample(payload, broken);
  }
  if (lists_.type == FeatureType::kNone) return Missing(i, payload);
  if (lists_.type != spec.type) {
    return absl::InvalidArgumentError(
        absl::StrCat("feature '", spec.name, "' holds ", FeatureTypeName(lists_.type),
                     ", the spec wants ", FeatureTypeName(spec.type)));
  }
  const size_t first_run = runs_.size();
  uint64_t count = 0, bytes = 0;
  for (std::span<const uint8_t> list : lists_.lists) {
    const uint8_t* broken = WalkList(list, spec.type, &trace_, [&](std::span<const uint8_t> value) {
      size_t values = 1;
      if (spec.type == FeatureType::kFloat) values = value.size() / 4;
      if (spec.type == FeatureType::kInt64) values = CountVarints(value);
      runs_.push_back({spec.type, static_cast<uint32_t>(slots_[i] + count),
                       static_cast<uint32_t>(values),
                       static_cast<uint32_t>(value.data() - payload.data()),
                       static_cast<uint32_t>(value.size())});
      count += values;
      bytes += value.size();
    });
    if (broken != nullptr) return BrokenExample(payload, broken);
  }
  if (absl::Status status = CheckCount(i, count, bytes); !status.ok()) return status;
  for (size_t run = first_run; run < runs_.size(); ++run) {
    if (!ReadRun(runs_[run], payload.data(), found)) {
      return BrokenExample(payload, payload.data() + runs_[run].offset);
    }
  }
  return absl::OkStatus();
}

absl::Status FeatureFinder::CheckCount(size_t i, uint64_t count, uint64_t bytes) const {
  const FeatureUse& spec = specs_[i];
  const bool is_bytes = spec.type == FeatureType::kBytes;
  if (count != (is_bytes ? 1 : spec.count)) {
    return absl::InvalidArgumentError(absl::StrCat("feature '", spec.name, "' has ", count,
                                                   " values, the spec wants ",
                                                   is_bytes ? 1 : spec.count));
  }
  if (is_bytes && spec.count != 0 && bytes != spec.count) {
    return absl::InvalidArgumentError(absl::StrCat("feature '", spec.name, "' has ", bytes,
                                                   " bytes, the spec wants ", spec.count));
  }
  return absl::OkStatus();
}

absl::Status FeatureFinder::Missing(size_t i, std::span<const uint8_t> payload) const {
  std::vector<absl::string_view> names;
  // The walk came through these bytes already.
  WalkEntries(payload, nullptr, [&](const ExampleEntry& entry) {
    if (names.size() < 16) names.push_back(entry.name);
  });
  return absl::InvalidArgumentError(
      absl::StrCat("feature '", specs_[i].name, "' is missing or empty; the record has ",
                   names.empty() ? "none" : absl::StrJoin(names, ", ")));
}

void FeatureFinder::Remember(std::span<const uint8_t> payload) {
  Layout& layout = layouts_[payload.size() % kLayouts];
  layout.payload_size = ~size_t{0};
  if (payload.size() < sizeof(uint64_t)) return;  // No room for a compare.
  layout.checks.clear();
  const uint32_t last = static_cast<uint32_t>(payload.size() - sizeof(uint64_t));
  for (auto [begin, end] : trace_.ranges()) {
    while (begin < end) {
      const auto offset = static_cast<uint32_t>(begin - payload.data());
      const size_t size = std::min<size_t>(8, static_cast<size_t>(end - begin));
      uint64_t mask = size == 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * size) - 1;
      // Near the end the 8 bytes begin earlier.
      const uint32_t at = std::min(offset, last);
      mask <<= 8 * (offset - at);
      layout.checks.push_back({at, mask, Load64(payload.data() + at) & mask});
      begin += size;
    }
  }
  layout.runs = runs_;
  layout.payload_size = payload.size();
}

}  // namespace penstock
