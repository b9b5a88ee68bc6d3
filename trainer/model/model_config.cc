#include "trainer/model/model_config.h"

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

constexpr size_t kChannels = 3;
constexpr size_t kMostPixels = 4096;  // The most pixels per side.
constexpr double kMostDropout = 0.99;

// The ViT of the Keras examples ("Image classification with Vision Transformer"), for CIFAR-100.
ModelConfig KerasVit() {
  ModelConfig config{"vit", 8, 64, 4, 128};
  config.attention_width = 256;
  config.side = 72;
  config.patch = 6;
  config.classes = 100;
  config.head = {2048, 1024};
  config.flatten = true;
  config.gelu_twice = true;
  config.dropout = 0.1;
  config.head_dropout = 0.5;
  return config;
}

// ViT-S/16 with the mean over tokens instead of a class token (arXiv:2205.01580).
ModelConfig SmallVit() {
  ModelConfig config{"vit-small", 12, 384, 6, 1536};
  config.side = 224;
  config.patch = 16;
  config.classes = 1000;
  return config;
}

// The counterpart of "tiny" for images, for a first training on a CPU.
ModelConfig TinyVit() {
  ModelConfig config{"vit-tiny", 4, 64, 4, 128};
  config.side = 72;
  config.patch = 8;
  config.classes = 10;
  return config;
}

absl::Status CheckImages(const ModelConfig& config) {
  if (config.attention_bias) {
    return absl::InvalidArgumentError(
        absl::StrCat("--attention-bias is for board models, and --model ", config.name,
                     " reads images; leave it out"));
  }
  if (config.side > kMostPixels || config.patch == 0 || config.side % config.patch != 0 ||
      config.tokens() > kMostTokens) {
    return absl::InvalidArgumentError(absl::StrCat(
        "model ", config.name, ": images of ", config.side, " pixels in patches of ", config.patch,
        ": the side must be a multiple of the patch, with at most ", kMostTokens, " patches"));
  }
  if (config.classes >= 2 && config.classes <= kMostClasses) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("model ", config.name, ": ", config.classes,
                                                 " classes; give 2 to ", kMostClasses));
}

absl::Status CheckDropout(const ModelConfig& config) {
  for (double rate : {config.dropout, config.head_dropout}) {
    if (rate >= 0 && rate <= kMostDropout) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("model ", config.name, ": a dropout of ", rate, "; give 0 to ", kMostDropout));
  }
  return absl::OkStatus();
}

}  // namespace

size_t ModelConfig::tokens() const {
  return is_image() ? (side / patch) * (side / patch) : kBoardTokens;
}

size_t ModelConfig::inputs() const { return is_image() ? patch * patch * kChannels : kBoardInputs; }

size_t ModelConfig::outputs() const { return is_image() ? classes : 1; }

std::vector<size_t> ModelConfig::head_widths() const {
  return is_image() ? head : std::vector<size_t>{dim};
}

std::vector<std::string> ModelConfig::Names() {
  return {"tiny", "default", "large", "vit", "vit-small", "vit-tiny"};
}

absl::StatusOr<ModelConfig> ModelConfig::Named(absl::string_view name) {
  if (name == "tiny") return ModelConfig{"tiny", 4, 64, 4, 128};
  if (name == "default") return ModelConfig{"default", 8, 256, 8, 512};
  if (name == "large") return ModelConfig{"large", 12, 512, 16, 2048};
  if (name == "vit") return KerasVit();
  if (name == "vit-small") return SmallVit();
  if (name == "vit-tiny") return TinyVit();
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown model \"", name,
      "\"; give tiny, default or large for boards, or vit, vit-small or vit-tiny for images"));
}

absl::Status ModelConfig::Validate() const {
  if (layers == 0 || dim == 0 || heads == 0 || hidden == 0 || width() % heads != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("model ", name, ": ", layers, " layers, dim ", dim, ", ", heads,
                     " heads, hidden ", hidden, ": none may be zero, and ",
                     attention_width == 0 ? "dim" : absl::StrCat("the attention width ", width()),
                     " must be a multiple of the heads"));
  }
  if (is_image()) {
    if (absl::Status images = CheckImages(*this); !images.ok()) return images;
    if (absl::Status pixels_fit = pixels.Validate(); !pixels_fit.ok()) return pixels_fit;
  }
  return CheckDropout(*this);
}

bool ModelConfig::SameParameters(const ModelConfig& other) const {
  ModelConfig alike = other;
  alike.dropout = dropout;
  alike.head_dropout = head_dropout;
  return alike == *this;
}

}  // namespace penstock
