// The attention model over chess boards: its sizes.
#ifndef PENSTOCK_TRAINER_MODEL_MODEL_CONFIG_H_
#define PENSTOCK_TRAINER_MODEL_MODEL_CONFIG_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

inline constexpr size_t kBoardTokens = 64;
inline constexpr size_t kBoardInputs = 34;  // 24 planes and 10 flags a square.
inline constexpr double kBoardNormEpsilon = 1e-5;

// Linear embedding and learned position; pre-norm blocks of attention and an MLP with GELU (tanh
// form); LayerNorm, mean over the squares, linear dim to dim, GELU, linear to one, tanh. If asked
// for, each block adds a learned bias to its attention's scores: a number for each head and each
// pair of squares.
struct ModelConfig {
  std::string name;
  size_t layers = 0;
  size_t dim = 0;
  size_t heads = 0;
  size_t hidden = 0;  // Width of the MLP.
  bool attention_bias = false;

  size_t head_dim() const { return dim / heads; }

  // "tiny", "default" or "large"; kInvalidArgument names them.
  static absl::StatusOr<ModelConfig> Named(absl::string_view name);

  // kInvalidArgument: a size of zero, or heads that do not divide dim.
  absl::Status Validate() const;

  friend bool operator==(const ModelConfig&, const ModelConfig&) = default;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_MODEL_MODEL_CONFIG_H_
