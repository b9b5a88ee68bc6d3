#include "cli/sheet/original_cells.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/data/feature_values.h"
#include "cli/sheet/sheet_label.h"
#include "cli/sheet/shown_size.h"

namespace penstock {
namespace {

// Files up to this size are part of a page. Larger files would make it too large to open, so it
// shows smaller pictures instead.
constexpr size_t kMaxFileBytes = size_t{64} << 10;

bool HasInt(const FeatureSummary& features, absl::string_view name) {
  return std::any_of(features.features.begin(), features.features.end(),
                     [name](const FeatureInfo& feature) {
                       return feature.name == name && feature.type == "int64" &&
                              !feature.feature_list && feature.values.max == 1;
                     });
}

std::string NoteOf(const ImageInfo& info) {
  std::string note = absl::StrCat(info.width, "x", info.height, " ", ImageFormatName(info.format));
  if (info.orientation != 1) absl::StrAppend(&note, ", EXIF ", info.orientation);
  return note;
}

}  // namespace

absl::StatusOr<OriginalFeatures> OriginalFeatures::Choose(RecordFormat format,
                                                          const FeatureSummary& features,
                                                          std::span<const ImageFacts> images) {
  if (images.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "no feature holds JPEG or PNG images; the records have ", NamesOf(features.features),
        ". Give --spec with a spec whose tensors are pictures"));
  }
  OriginalFeatures chosen{.format = format, .image = images[0].feature};
  for (const ImageFacts& facts : images) {
    if (facts.feature == kImageFeature) chosen.image = facts.feature;
  }
  for (const absl::string_view name : {"label", "image/class/label"}) {
    if (HasInt(features, name)) chosen.label = std::string(name);
  }
  return chosen;
}

SheetCell OriginalCells::Make(uint64_t record, std::span<const uint8_t> payload) {
  SheetCell cell{.record = record};
  if (!features_.label.empty()) {
    const std::optional<int64_t> label = FirstInt(payload, features_.label);
    if (label) cell.label = LabelText("label", *label, class_names_);
  }
  if (absl::Status added = AddPicture(payload, cell); !added.ok()) {
    cell.problem = std::string(added.message());
  }
  return cell;
}

absl::Status OriginalCells::AddPicture(std::span<const uint8_t> payload, SheetCell& cell) {
  const auto bytes = FirstBytes(features_.format, payload, features_.image);
  if (!bytes) return absl::NotFoundError(absl::StrCat("no feature '", features_.image, "'"));
  // Set the size first, because that of a damaged image is useful too.
  PENSTOCK_ASSIGN_OR_RETURN(const ImageInfo info, ProbeImage(*bytes));
  cell.note = NoteOf(info);
  PENSTOCK_ASSIGN_OR_RETURN(const DecodedImage image, decoder_.Decode(*bytes, {}));
  SheetPicture& picture =
      cell.pictures.emplace_back(SheetPicture{features_.image, ShrunkToFit(image.pixels, side_)});
  if (bytes->size() <= kMaxFileBytes) {
    picture.file.assign(bytes->begin(), bytes->end());
    picture.media_type = info.format == ImageFormat::kJpeg ? "image/jpeg" : "image/png";
  }
  return absl::OkStatus();
}

}  // namespace penstock
