#include "trainer/app/predict_images.h"

#include <cstdio>
#include <memory>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/bytes_of.h"
#include "base/io/text_file.h"
#include "base/print_escaped.h"
#include "base/status.h"
#include "records/decode/image_spec.h"
#include "records/decode/spec.h"
#include "records/image/image_transform.h"
#include "trainer/app/classes.h"
#include "trainer/app/eval_spec.h"
#include "trainer/app/judged_records.h"
#include "trainer/app/likeliest.h"
#include "trainer/app/restore.h"

namespace penstock {
namespace {

constexpr size_t kShown = 5;
constexpr uint64_t kMostFileBytes = uint64_t{1} << 30;

absl::Status Decode(const std::string& file, const ImageOps& ops, ImageTransform& transform,
                    std::span<uint8_t> pixels) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::string bytes, ReadTextFile(file, kMostFileBytes));
  return Annotate(transform.Apply(BytesOf(bytes), ops, Uniforms(0), pixels).status(), file);
}

std::vector<LikelyClass> LikelyClasses(const CheckpointInfo& info, std::span<const float> row) {
  std::vector<LikelyClass> classes;
  for (const size_t number : Likeliest(row, kShown)) {
    classes.push_back({number, ClassName(info.class_names, number), row[number]});
  }
  return classes;
}

}  // namespace

absl::StatusOr<ImageOps> OpsFor(const CheckpointInfo& info) {
  PENSTOCK_ASSIGN_OR_RETURN(v1::DecodeSpec spec,
                            ParseSpec(info.eval_spec, "the checkpoint's spec"));
  const auto side = static_cast<uint32_t>(info.model.side);
  if (ImageOf(spec) == nullptr) {
    PENSTOCK_ASSIGN_OR_RETURN(spec, LoadSpec(absl::StrCat("images-eval:", side)));
  }
  spec = EvalSpecOf(std::move(spec));
  const std::string random = RandomOperationsOf(spec);
  if (!random.empty()) {
    PrintEscaped(stderr, "penstock-train: the checkpoint's spec has random operations: %s\n",
                 random);
  }
  PENSTOCK_ASSIGN_OR_RETURN(ImageOps ops, ImageOpsOf(*ImageOf(spec)));
  if (ops.output() == Size{side, side} && ops.channels == 3) return ops;
  return absl::InvalidArgumentError(absl::StrCat(
      "the checkpoint's spec makes images of ", ops.output().width, " x ", ops.output().height,
      " x ", ops.channels, ", but its model reads ", side, " x ", side, " x 3"));
}

absl::StatusOr<std::vector<ImagePrediction>> PredictImages(const std::string& checkpoint,
                                                           const std::vector<std::string>& files) {
  PENSTOCK_ASSIGN_OR_RETURN(Checkpoint loaded, LoadNamedCheckpoint(checkpoint));
  const CheckpointInfo info = loaded.info;
  if (!info.model.is_image()) {
    return absl::FailedPreconditionError(absl::StrCat(
        checkpoint, " has model ", info.model.name,
        ", which scores positions and cannot read --image: give --fen, or a checkpoint "
        "of an image model (vit, vit-small, vit-tiny)"));
  }
  PENSTOCK_ASSIGN_OR_RETURN(const std::unique_ptr<CpuBackend> backend,
                            RestoreBackend(loaded, /*threads=*/1));
  PENSTOCK_ASSIGN_OR_RETURN(const ImageOps ops, OpsFor(info));
  ImageTransform transform;
  std::vector<uint8_t> pixels(ops.output_bytes());
  std::vector<float> row(info.model.classes);
  std::vector<ImagePrediction> images;
  for (const std::string& file : files) {
    PENSTOCK_RETURN_IF_ERROR(Decode(file, ops, transform, pixels));
    PENSTOCK_RETURN_IF_ERROR(backend->Logits(
        {.format = ImagesOf(info.model.side), .rows = 1, .input = pixels.data()}, row));
    SoftmaxRows(row.size(), row);
    images.push_back({file, LikelyClasses(info, row)});
  }
  return images;
}

nlohmann::ordered_json ToJson(const std::vector<ImagePrediction>& images) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const ImagePrediction& image : images) {
    nlohmann::ordered_json classes = nlohmann::ordered_json::array();
    for (const LikelyClass& likely : image.classes) {
      classes.push_back(
          {{"class", likely.number}, {"name", likely.name}, {"probability", likely.probability}});
    }
    list.push_back({{"image", image.file}, {"classes", classes}});
  }
  return list;
}

std::string ToText(const ImagePrediction& image) {
  std::string text = absl::StrCat(image.file, "\n");
  for (const LikelyClass& likely : image.classes) {
    absl::StrAppendFormat(&text, "  %5.1f %%  %s\n", 100 * likely.probability, likely.name);
  }
  return text;
}

}  // namespace penstock
