// Offsets of a model's parameters in the parameter arena. Gradients and both moments of AdamW have
// the same layout.
#ifndef PENSTOCK_TRAINER_MODEL_PARAMETER_TABLE_H_
#define PENSTOCK_TRAINER_MODEL_PARAMETER_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "trainer/model/model_config.h"

namespace penstock {

enum class ParameterKind : uint8_t {
  kMatrix,    // (out, in): uniform +-1/sqrt(in); the only kind that decays.
  kBias,      // (out): initialised like its matrix.
  kGain,      // Initially one.
  kOffset,    // Initially zero.
  kPosition,  // (tokens, dim): normal, deviation 0.02.
  // (heads, tokens, tokens): initially zero, so that the model starts as the one without it. It
  // does not decay: like a position, it is a number for each place, about whose size nothing is
  // known.
  kAttentionBias,
};

struct Parameter {
  std::string name;
  ParameterKind kind;
  std::vector<uint32_t> shape;
  size_t fan_in = 0;  // Set for matrices and biases.
  size_t offset = 0;  // Offset in floats; a multiple of kArenaAlignment.
  size_t count = 0;   // Size in floats.

  bool decays() const { return kind == ParameterKind::kMatrix; }
};

inline constexpr size_t kArenaAlignment = 16;  // In floats; these are 64 bytes.

// Width of the first layer's rows and of the last layer's output: the model's own, or rounded up to
// a multiple if a device needs rows of whole vectors. The padding is zero, stays zero and changes
// nothing.
struct ModelWidths {
  size_t inputs = 0;
  size_t outputs = 0;

  static ModelWidths Of(const ModelConfig& config, size_t multiple = 1);
};

// Immutable once built.
class ParameterTable {
 public:
  // Uses ModelWidths::Of(config, multiple). The names and their order do not depend on `multiple`.
  static ParameterTable For(const ModelConfig& config, size_t multiple = 1);

  const std::vector<Parameter>& parameters() const { return parameters_; }
  // REQUIRES: the name is in the table.
  const Parameter& at(absl::string_view name) const;
  size_t parameter_count() const { return parameter_count_; }
  // Size in floats of the parameters with their alignment gaps.
  size_t arena_size() const { return arena_size_; }

 private:
  void Add(std::string name, ParameterKind kind, std::vector<uint32_t> shape, size_t fan_in = 0);
  void AddLinear(absl::string_view name, size_t in, size_t out);
  void AddNorm(absl::string_view name, size_t dim);
  void AddHead(const ModelConfig& config, size_t outputs);

  std::vector<Parameter> parameters_;
  size_t parameter_count_ = 0;
  size_t arena_size_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_MODEL_PARAMETER_TABLE_H_
