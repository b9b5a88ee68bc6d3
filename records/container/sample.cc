#include "records/container/sample.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/bytes_of.h"
#include "base/status.h"

namespace penstock {
namespace {

constexpr absl::string_view kNumbers[] = {"cls", "cls2", "class", "count", "index", "inx", "id"};

bool MayBeNumber(absl::string_view extension) {
  const absl::string_view last = extension.substr(extension.rfind('.') + 1);
  return std::ranges::find(kNumbers, last) != std::end(kNumbers);
}

void AddFeature(absl::string_view name, std::span<const uint8_t> value, ExampleBuilder& example) {
  int64_t number;
  const absl::string_view text(reinterpret_cast<const char*>(value.data()), value.size());
  if (MayBeNumber(name) && absl::SimpleAtoi(text, &number)) {
    example.AddInt64(name, {&number, 1});
  } else {
    example.AddBytes(name, value);
  }
}

}  // namespace

void Sample::Clear() {
  names_.clear();
  parts_.clear();
}

void Sample::Add(const SampleName& name, const TarMember& member) {
  if (empty()) {
    names_.assign(name.key.data(), name.key.size());
    key_size_ = name.key.size();
  }
  parts_.push_back({names_.size(), name.extension.size(), member.data, member.size});
  for (char c : name.extension) names_ += absl::ascii_tolower(static_cast<unsigned char>(c));
  end_ = member.end();
}

absl::StatusOr<std::span<const uint8_t>> Sample::Build(std::span<const uint8_t> bytes) {
  // The earlier of two equal names comes first, for the error message.
  std::ranges::sort(parts_, {},
                    [this](const Part& part) { return std::pair(NameOf(part), part.data); });
  PENSTOCK_RETURN_IF_ERROR(CheckNames());
  example_.Clear();
  example_.AddBytes(kSampleKey, BytesOf(key()));
  for (const Part& part : parts_) {
    AddFeature(NameOf(part), bytes.subspan(part.data, part.size), example_);
  }
  return example_.Serialize();
}

absl::Status Sample::CheckNames() const {
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (NameOf(parts_[i]) == kSampleKey) {
      return absl::DataLossError(absl::StrCat("byte ", parts_[i].data - kTarBlock, ": member '",
                                              key(), ".", kSampleKey, "' would become the feature ",
                                              kSampleKey,
                                              ", which holds the sample's key: rename the member"));
    }
    if (i > 0 && NameOf(parts_[i]) == NameOf(parts_[i - 1])) {
      return absl::DataLossError(
          absl::StrCat("byte ", parts_[i].data - kTarBlock, ": member '", key(), ".",
                       NameOf(parts_[i]), "' appears twice in its sample; the first is at byte ",
                       parts_[i - 1].data - kTarBlock, " (case is ignored)"));
    }
  }
  return absl::OkStatus();
}

}  // namespace penstock
