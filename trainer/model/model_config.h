// The attention models for chess boards and for images, and their sizes.
#ifndef PENSTOCK_TRAINER_MODEL_MODEL_CONFIG_H_
#define PENSTOCK_TRAINER_MODEL_MODEL_CONFIG_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/reference/activation.h"
#include "trainer/model/pixel_statistics.h"

namespace penstock {

inline constexpr size_t kBoardTokens = 64;
inline constexpr size_t kBoardInputs = 34;     // 24 planes and 10 flags per square.
inline constexpr size_t kMostTokens = 256;     // The most tokens that attention supports.
inline constexpr size_t kMostClasses = 65536;  // A float represents far larger numbers too.

// A model has these parts in order: a linear embedding and a learned position; pre-norm blocks of
// attention and an MLP with GELU; LayerNorm; a head of linear layers with GELU between them.
//
// A model of boards has one token per square, GELU in its tanh form, and norms with epsilon 1e-5.
// Its head takes the mean over the squares, and has one hidden layer of width `dim` and one output
// through tanh. Optionally, each block adds a learned bias to its attention's scores: one number
// for each head and each pair of squares.
//
// A model of images (Dosovitskiy et al., arXiv:2010.11929) has one token per patch, GELU in its erf
// form, norms with epsilon 1e-6, and one logit per class.
struct ModelConfig {
  std::string name;
  size_t layers = 0;
  size_t dim = 0;
  size_t heads = 0;
  size_t hidden = 0;  // Width of the MLP.
  bool attention_bias = false;

  size_t attention_width = 0;     // Width of all heads together; 0 means `dim`.
  size_t side = 0;                // Side of the square images, in pixels; 0 for boards.
  size_t patch = 0;               // Side of a patch; divides the image's side.
  size_t classes = 0;             // Number of classes; 0 for boards.
  std::vector<size_t> head = {};  // Widths of the hidden layers before the logits, for images.
  bool flatten = false;         // If true, the head reads all tokens side by side, not their mean.
  bool gelu_twice = false;      // Whether GELU follows both layers of the MLP.
  PixelStatistics pixels = {};  // Statistics by which pixels are normalised.

  // Dropout rates in training. `dropout` applies to attention's probabilities and to the outputs of
  // both layers of a block's MLP, after their GELU if they have one. `head_dropout` applies to the
  // input of each layer of the head.
  double dropout = 0;
  double head_dropout = 0;

  bool is_image() const { return side != 0; }
  size_t tokens() const;
  size_t inputs() const;   // Values per token.
  size_t outputs() const;  // Width of the last layer's output.
  // Numbers per row in predictions. For boards this is the prediction; for images the loss, and the
  // number of classes likelier than the row's own.
  size_t results() const { return is_image() ? 2 : 1; }
  size_t width() const { return attention_width == 0 ? dim : attention_width; }
  size_t head_dim() const { return width() / heads; }
  std::vector<size_t> head_widths() const;
  reference::GeluForm gelu() const {
    return is_image() ? reference::GeluForm::kErf : reference::GeluForm::kTanh;
  }
  float norm_epsilon() const { return is_image() ? 1e-6f : 1e-5f; }

  // The names that Named() accepts.
  static std::vector<std::string> Names();
  // "tiny", "default", "large": boards; "vit", "vit-small", "vit-tiny": images. kInvalidArgument:
  // another name.
  static absl::StatusOr<ModelConfig> Named(absl::string_view name);

  // kInvalidArgument: a size of zero, heads or patches that do not divide, more tokens than
  // attention supports, a dropout outside [0, 1), or impossible pixel statistics.
  absl::Status Validate() const;

  // Whether both models have the same parameters and the same input. Dropout may differ.
  bool SameParameters(const ModelConfig& other) const;

  friend bool operator==(const ModelConfig&, const ModelConfig&) = default;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_MODEL_MODEL_CONFIG_H_
