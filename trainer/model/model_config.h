// The attention models: over chess boards and over images. Their sizes.
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
inline constexpr size_t kBoardInputs = 34;     // 24 planes and 10 flags a square.
inline constexpr size_t kMostTokens = 256;     // That attention takes.
inline constexpr size_t kMostClasses = 65536;  // Whose numbers a float holds, with room.

// Linear embedding and learned position; pre-norm blocks of attention and an MLP with GELU;
// LayerNorm; a head of linear layers with GELU between them.
//
// Boards: a token a square, GELU in its tanh form, norms with epsilon 1e-5, the mean over the
// squares, one hidden layer of dim, one number through tanh. If asked for, each block adds a
// learned bias to its attention's scores: a number for each head and each pair of squares.
//
// Images (Dosovitskiy et al., arXiv:2010.11929): a token a patch, GELU in its erf form, norms with
// epsilon 1e-6, a logit for each class.
struct ModelConfig {
  std::string name;
  size_t layers = 0;
  size_t dim = 0;
  size_t heads = 0;
  size_t hidden = 0;  // Width of the MLP.
  bool attention_bias = false;

  size_t attention_width = 0;     // Of all heads together; 0: dim.
  size_t side = 0;                // Of images, which are square, in pixels; 0: boards.
  size_t patch = 0;               // Side of a patch; divides the image's.
  size_t classes = 0;             // 0: boards.
  std::vector<size_t> head = {};  // Of images: widths of the hidden layers before the logits.
  bool flatten = false;           // The head reads all tokens side by side, not their mean.
  bool gelu_twice = false;        // After both layers of the MLP.
  PixelStatistics pixels = {};    // That pixels are normalised by.

  // Shares that training leaves out, at random: of attention's probabilities and of what both
  // layers of a block's MLP give, behind their GELU where there is one; and of what each layer of
  // the head reads.
  double dropout = 0;
  double head_dropout = 0;

  bool is_image() const { return side != 0; }
  size_t tokens() const;
  size_t inputs() const;   // Values of a token.
  size_t outputs() const;  // Of the last layer.
  // Numbers of a row that an evaluation judges: a board's prediction; an image's loss, and how
  // many classes are likelier than its own.
  size_t results() const { return is_image() ? 2 : 1; }
  size_t width() const { return attention_width == 0 ? dim : attention_width; }
  size_t head_dim() const { return width() / heads; }
  std::vector<size_t> head_widths() const;
  reference::GeluForm gelu() const {
    return is_image() ? reference::GeluForm::kErf : reference::GeluForm::kTanh;
  }
  float norm_epsilon() const { return is_image() ? 1e-6f : 1e-5f; }

  // Those that Named() knows.
  static std::vector<std::string> Names();
  // "tiny", "default", "large": boards; "vit", "vit-small", "vit-tiny": images; kInvalidArgument.
  static absl::StatusOr<ModelConfig> Named(absl::string_view name);

  // kInvalidArgument: a size of zero, heads or patches that do not divide, more tokens than
  // attention takes, a dropout outside [0, 1), or pixels of
  // impossible statistics.
  absl::Status Validate() const;

  // Whether the parameters of the one are those of the other, on the same input: dropout may
  // differ.
  bool SameParameters(const ModelConfig& other) const;

  friend bool operator==(const ModelConfig&, const ModelConfig&) = default;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_MODEL_MODEL_CONFIG_H_
