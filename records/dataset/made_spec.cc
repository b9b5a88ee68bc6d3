#include "records/dataset/made_spec.h"

#include <algorithm>
#include <bit>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "records/container/sample.h"

namespace penstock {
namespace {

// The limits of docs/reference/decode_spec.md, or less for names that are still extended.
constexpr size_t kMaxTensors = 256;
constexpr size_t kMaxFeatureName = 256;
constexpr size_t kMaxTensorName = 96;

// Leaves room for values that are somewhat longer than those seen.
uint32_t RoundedUp(uint32_t length) {
  constexpr uint32_t kStep = 64;
  if (length <= kStep) return std::bit_ceil(length);
  constexpr uint32_t kLast = ~uint32_t{0} / kStep * kStep;
  return length > kLast ? length : (length + kStep - 1) / kStep * kStep;
}

uint32_t LengthFor(const ValueRange& range) {
  return range.fixed() ? range.max : RoundedUp(range.max);
}

std::string Quoted(absl::string_view text) { return absl::StrCat("\"", absl::CEscape(text), "\""); }

// Writes the tensors of one spec.
class SpecMaker {
 public:
  explicit SpecMaker(const FeatureSummary& summary)
      : summary_(summary),
        alternatives_(AlternativesIn(summary)),
        images_(std::count_if(summary.features.begin(), summary.features.end(), HoldsImages)),
        built_in_(HasSampleImages(summary)) {}

  void Add(const FeatureInfo& feature) {
    absl::StrAppend(&text_, "\n# ", absl::CEscape(Describe(feature, summary_.records)), "\n");
    if (const absl::string_view why = WhyNot(feature); !why.empty()) {
      absl::StrAppend(&text_, "# Left out: ", why, ".\n");
      return;
    }
    if (IsAlternative(feature)) return AddAlternative();
    if (HoldsImages(feature)) {
      const absl::string_view why = WhyNoImage(feature);
      if (why.empty()) return AddImage(feature.name, ImageTensor(feature));
      absl::StrAppend(&text_, "# Its images stay encoded: ", why, ".\n");
    }
    const std::string name = Take(NameFor(feature));
    const std::string operation =
        feature.type == "bytes" ? Bytes(feature, name) : NumberOrLabel(feature, name);
    absl::StrAppend(&text_, "tensor { name: \"", name, "\" ", operation, " }\n");
  }

  const std::string& text() const { return text_; }

 private:
  // Returns why an image operation cannot decode the values, or an empty string if it can.
  absl::string_view WhyNoImage(const FeatureInfo& feature) const {
    if (!summary_.InAll(feature)) return "an image operation needs one in every record";
    if (feature.values != ValueRange{1, 1}) return "an image operation takes one in a record";
    return "";
  }

  // The names under which records store their one image, if there are several: "jpg|png".
  static std::string AlternativesIn(const FeatureSummary& summary) {
    std::vector<absl::string_view> names;
    uint64_t records = 0;
    for (const FeatureInfo& feature : summary.features) {
      if (!StandsFor(kSampleImage, feature.name) || !HoldsImages(feature)) continue;
      if (feature.values != ValueRange{1, 1}) return "";
      names.push_back(feature.name);
      records += feature.records;
    }
    if (names.size() < 2 || records != summary.records) return "";
    std::sort(names.begin(), names.end());
    return absl::StrJoin(names, "|");
  }

  bool IsAlternative(const FeatureInfo& feature) const {
    return !alternatives_.empty() && HoldsImages(feature) && StandsFor(alternatives_, feature.name);
  }

  // The first of several alternatives adds the tensor for all of them.
  void AddAlternative() {
    if (std::exchange(has_alternatives_, true)) {
      absl::StrAppend(&text_, "# Read as ", alternatives_, ".\n");
    } else {
      AddImage(alternatives_, "image");
    }
  }

  // Names the label of an image as penstock-train does.
  absl::string_view NameFor(const FeatureInfo& feature) const {
    const bool is_class = images_ > 0 && feature.name == kSampleClass;
    return feature.name == kImageLabel || is_class ? "label" : absl::string_view(feature.name);
  }

  absl::string_view ImageTensor(const FeatureInfo& feature) const {
    return feature.name == kImageFeature || images_ == 1 ? "image"
                                                         : absl::string_view(feature.name);
  }

  void AddImage(absl::string_view feature, absl::string_view tensor) {
    const bool built_in = feature == kImageFeature || (built_in_ && tensor == "image");
    absl::StrAppend(&text_, "# Decoded and cropped to the middle.",
                    built_in ? " --spec images-train takes random parts.\n" : "\n",
                    "tensor {\n  name: \"", Take(tensor),
                    "\"\n  image {\n    feature: ", Quoted(feature),
                    " \n    resize_shorter { side: 256 }\n"
                    "    center_crop { height: 224 width: 224 }\n  }\n}\n");
  }

  // Returns why no operation can take the feature, or an empty string if one can.
  absl::string_view WhyNot(const FeatureInfo& feature) const {
    const auto same_name = [&](const FeatureInfo& other) {
      return other.name == feature.name && other.feature_list == feature.feature_list;
    };
    if (std::count_if(summary_.features.begin(), summary_.features.end(), same_name) > 1) {
      return "records differ in its type";
    }
    if (names_.size() + 4 > kMaxTensors) return "a spec has at most 256 tensors";
    if (feature.name.empty()) return "it has no name";
    if (feature.name == kSampleKey) return "it names the sample";
    if (feature.name.size() > kMaxFeatureName) return "its name is too long";
    if (feature.values.max == 0) return "it is always empty";
    if (feature.type == "bytes" && feature.bytes.max == 0) return "it is always empty";
    if (!feature.feature_list) return "";
    if (!feature.step_values.fixed()) return "its steps differ in their number of values";
    if (feature.step_values.max == 0) return "its steps are empty";
    if (feature.type == "bytes" && feature.step_values.max > 1) return "a step has several values";
    return "";
  }

  std::string NumberOrLabel(const FeatureInfo& feature, const std::string& name) {
    const bool integer = feature.type == "int64";
    const bool single = !feature.feature_list && feature.values == ValueRange{1, 1};
    return absl::StrCat(single ? "label { " : "number { ", Source(feature),
                        integer ? "" : "type: FLOAT ", single ? "" : Values(feature, name),
                        Optional(feature, name), "}");
  }

  std::string Values(const FeatureInfo& feature, const std::string& name) {
    const uint32_t length = LengthFor(feature.values);
    if (!feature.feature_list && feature.values.fixed())
      return absl::StrCat("count: ", length, " ");
    const uint32_t item = feature.feature_list ? feature.step_values.max : 1;
    return absl::StrCat(item > 1 ? absl::StrCat("shape: ", item, " ") : "",
                        "pad { length: ", length, " } length_tensor: \"",
                        Take(absl::StrCat(name, "_length")), "\" ");
  }

  std::string Bytes(const FeatureInfo& feature, const std::string& name) {
    const uint32_t length = LengthFor(feature.bytes);
    const bool list = feature.feature_list || feature.values != ValueRange{1, 1};
    std::string text = absl::StrCat("bytes { ", Source(feature));
    if (list) {
      absl::StrAppend(&text, "list { count: ", LengthFor(feature.values), " count_tensor: \"",
                      Take(absl::StrCat(name, "_count")), "\" } ");
    }
    if (list || !feature.bytes.fixed()) {
      absl::StrAppend(&text, "pad { length: ", length, " } length_tensor: \"",
                      Take(absl::StrCat(name, "_length")), "\" ");
    } else {
      absl::StrAppend(&text, "length: ", length, " ");
    }
    return absl::StrCat(text, Optional(feature, name), "}");
  }

  static std::string Source(const FeatureInfo& feature) {
    return absl::StrCat(feature.feature_list ? "feature_list: " : "feature: ", Quoted(feature.name),
                        " ");
  }

  std::string Optional(const FeatureInfo& feature, const std::string& name) {
    if (summary_.InAll(feature)) return "";
    return absl::StrCat("optional: true presence_tensor: \"", Take(absl::StrCat(name, "_present")),
                        "\" ");
  }

  // Returns a tensor name that is similar to `wanted` and not in use.
  std::string Take(absl::string_view wanted) {
    std::string name(wanted.substr(0, kMaxTensorName));
    std::replace_if(
        name.begin(), name.end(), [](char c) { return !absl::ascii_isalnum(c) && c != '-'; }, '_');
    std::string unique = name;
    for (int i = 2; !names_.insert(unique).second; ++i) unique = absl::StrCat(name, "_", i);
    return unique;
  }

  const FeatureSummary& summary_;
  const std::string alternatives_;  // Names of a record's image; empty if there is only one.
  const int64_t images_;            // Number of features that hold images.
  const bool built_in_;             // True if the built-in image specs can read the samples.
  bool has_alternatives_ = false;   // True once their tensor has been added.
  std::set<std::string> names_;
  std::string text_;
};

}  // namespace

std::string MakeSpec(const FeatureSummary& summary, RecordFormat format) {
  SpecMaker maker(summary);
  for (const FeatureInfo& feature : summary.features) maker.Add(feature);
  return absl::StrCat("# Made from the features of ", summary.records,
                      " records. Delete the tensors that you do not need.\n"
                      "# Values that are longer than `length` are an error; `truncate: true` cuts "
                      "them.\n",
                      format == RecordFormat::kRaw ? "records: RAW\n" : "", maker.text());
}

}  // namespace penstock
