#include "client/loader/dataset_spec.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "client/loader/sample_names.h"
#include "client/loader/unread_features.h"
#include "records/dataset/made_spec.h"
#include "records/decode/program.h"
#include "records/decode/spec.h"
#include "records/engine/decoding.h"

namespace penstock {
namespace {

std::string Title(const FeatureUse& use) {
  return absl::StrCat(use.is_feature_list() ? "feature list '" : "feature '", use.name, "' (",
                      FeatureTypeName(use.type), ")");
}

// Says how `use` contradicts the features that were seen; empty if it does not.
std::string Contradiction(const FeatureUse& use, const FeatureInfo& info) {
  if (info.type != FeatureTypeName(use.type) && use.type != FeatureType::kNone) {
    return absl::StrCat("which is ", info.type, " in the records");
  }
  if (use.variable) return "";
  const bool bytes = use.type == FeatureType::kBytes;
  const ValueRange& seen = bytes ? info.bytes : info.values;
  if (use.count >= seen.min && use.count <= seen.max) return "";
  const absl::string_view unit = bytes ? " bytes" : " values";
  return absl::StrCat("with ", use.count, unit, "; the records have ", seen.ToText(), unit);
}

// Names two alternatives that every record has. Returns an empty string if there are none, or if a
// feature has the name itself.
std::string TwoAlternatives(const FeatureUse& use, const FeatureSummary& summary) {
  std::vector<absl::string_view> names;
  for (const FeatureInfo& info : summary.features) {
    if (info.feature_list != use.is_feature_list() || !StandsFor(use.name, info.name)) continue;
    if (info.name == use.name) return "";
    if (info.records > 0 && summary.InAll(info)) names.push_back(info.name);
  }
  if (names.size() < 2) return "";
  return absl::StrCat("which may match only one, but every record has '", names[0], "' and '",
                      names[1], "': name the one to read");
}

// Says how `use` contradicts the summary of all features. Returns an empty string if it does not,
// or if an optional feature was not seen.
std::string Contradiction(const FeatureUse& use, const FeatureSummary& summary) {
  if (use.name.empty()) return "";  // The use reads the payload.
  if (std::string two = TwoAlternatives(use, summary); !two.empty()) return two;
  const bool list = use.is_feature_list();
  std::string why;
  bool in_other_map = false;
  for (const FeatureInfo& info : summary.features) {
    if (!StandsFor(use.name, info.name) || info.type == "none") continue;
    in_other_map |= info.feature_list != list;
    if (info.feature_list != list) continue;
    why = Contradiction(use, info);
    if (why.empty()) return "";
  }
  if (!why.empty()) return why;
  if (use.variable && use.variable->optional) return "";
  if (!in_other_map) return "which the records lack";
  return list ? "which is a plain feature in the records: write `feature` in the spec"
              : "which is a feature list in the records: write `feature_list` in the spec";
}

// Raw records have one feature, which a spec reads as the payload.
absl::Status CheckFormat(const v1::DecodeSpec& spec, RecordFormat format) {
  if (format != RecordFormat::kRaw || spec.records() == v1::DecodeSpec::RAW) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "the records are raw (penstock index --format raw), so the spec needs `records: RAW`");
}

absl::Status CheckFeatures(const v1::DecodeSpec& spec, const FeatureSummary& features,
                           RecordFormat format) {
  PENSTOCK_RETURN_IF_ERROR(CheckFormat(spec, format));
  if (features.features.empty()) return absl::OkStatus();
  PENSTOCK_ASSIGN_OR_RETURN(const Program program, Program::Compile(spec, WireDtype::kF32));
  for (FeatureUse use : program.features()) {
    if (use.name.empty() && format == RecordFormat::kRaw) use.name = std::string(kRawFeature);
    const std::string why = Contradiction(use, features);
    if (why.empty()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "the spec expects ", Title(use), ", ", why, ". They have ", NamesOf(features.features),
        ". Give another --spec; penstock inspect --make-spec writes one"));
  }
  return absl::OkStatus();
}

absl::StatusOr<SpecChoice> MadeSpecOf(const Manifest& manifest) {
  const std::string text = MakeSpec(manifest.features(), manifest.format());
  PENSTOCK_ASSIGN_OR_RETURN(v1::DecodeSpec spec, ParseSpec(text, "made spec"));
  if (spec.tensor().empty()) {
    return absl::InvalidArgumentError(absl::StrCat("no decode spec can be made from the features (",
                                                   NamesOf(manifest.features().features),
                                                   "); give one with --spec"));
  }
  const absl::string_view note =
      manifest.surveyed()
          ? "no --spec given: using a decode spec made from the features of all records (penstock "
            "inspect --make-spec prints it)"
          : "no --spec given: using a decode spec made from the features of the records that an "
            "older version surveyed; longer or missing values in other records end the run. "
            "penstock index surveys all records";
  return SpecChoice{std::move(spec), "the spec made from the features", std::string(note)};
}

void AddNote(const std::string& note, SpecChoice& choice) {
  if (!note.empty()) absl::StrAppend(&choice.note, choice.note.empty() ? "" : "; ", note);
}

// Returns `choice` with a note on the features that its spec does not read. kInvalidArgument: the
// spec does not fit the records.
absl::StatusOr<SpecChoice> NotedChoice(SpecChoice choice, const Manifest& manifest) {
  PENSTOCK_RETURN_IF_ERROR(CheckFeatures(choice.spec, manifest.features(), manifest.format()));
  AddNote(UnreadNote(choice.spec, manifest.features()), choice);
  return choice;
}

absl::StatusOr<SpecChoice> StoredChoice(const Manifest& manifest) {
  PENSTOCK_ASSIGN_OR_RETURN(v1::DecodeSpec spec, ParseSpec(manifest.spec(), kManifestSpec));
  PENSTOCK_RETURN_IF_ERROR(
      Annotate(CheckFeatures(spec, manifest.features(), manifest.format()), kManifestSpec));
  return SpecChoice{std::move(spec), kManifestSpec, ""};
}

// ChooseSpec() without the note on clipped images.
absl::StatusOr<SpecChoice> Choose(v1::DecodeSpec named, const Manifest& manifest) {
  const FeatureSummary& features = manifest.features();
  if (!named.tensor().empty()) {
    named = WithSampleNames(std::move(named), features);
    PENSTOCK_RETURN_IF_ERROR(CheckFeatures(named, features, manifest.format()));
    return SpecChoice{std::move(named), "", ""};
  }
  const bool no_features = features.features.empty();
  if (no_features && features.records > 0) {
    return absl::InvalidArgumentError("the records have no features that a spec could read");
  }
  if (HasChessFeatures(features) || (manifest.spec().empty() && no_features)) {
    PENSTOCK_ASSIGN_OR_RETURN(v1::DecodeSpec chess, LoadSpec("chess"));
    return NotedChoice({std::move(chess), "the built-in spec chess", ""}, manifest);
  }
  if (!manifest.spec().empty()) return StoredChoice(manifest);
  PENSTOCK_ASSIGN_OR_RETURN(SpecChoice made, MadeSpecOf(manifest));
  return NotedChoice(std::move(made), manifest);
}

}  // namespace

WireDtype DefaultDtype(const v1::DecodeSpec& spec) {
  const auto& tensors = spec.tensor();
  const bool bits = std::any_of(tensors.begin(), tensors.end(),
                                [](const v1::TensorSpec& tensor) { return tensor.has_bits(); });
  return bits && Program::Compile(spec, WireDtype::kPacked).ok() ? WireDtype::kPacked
                                                                 : WireDtype::kI8;
}

absl::StatusOr<v1::DecodeSpec> LoadNamedSpec(const std::string& name) {
  if (name.empty()) return v1::DecodeSpec();
  return LoadSpec(name);
}

std::string ClippedNote(const v1::DecodeSpec& spec, const FeatureSummary& features) {
  for (const v1::TensorSpec& tensor : spec.tensor()) {
    if (!tensor.has_image() || tensor.image().grey16() == v1::Image::SCALE) continue;
    for (const FeatureInfo& info : features.features) {
      if (info.grey16 == 0 || !StandsFor(tensor.image().feature(), info.name)) continue;
      return absl::StrCat("feature '", info.name, "' has PNG with 16-bit grey in ", info.grey16,
                          " of ", features.records,
                          " records: values above 255 become 255, which "
                          "is white; `grey16: SCALE` in the spec scales them");
    }
  }
  return "";
}

absl::Status CheckSpecFits(const v1::DecodeSpec& spec, const FeatureSummary& features,
                           RecordFormat format) {
  PENSTOCK_RETURN_IF_ERROR(CheckFeatures(spec, features, format));
  StreamOptions options;
  options.spec = spec;
  return Decodings::Compile(options).status();
}

absl::StatusOr<SpecChoice> ChooseSpec(v1::DecodeSpec named, const Manifest& manifest) {
  PENSTOCK_ASSIGN_OR_RETURN(SpecChoice choice, Choose(std::move(named), manifest));
  AddNote(ClippedNote(choice.spec, manifest.features()), choice);
  return choice;
}

}  // namespace penstock
