// Layout of a model's parameters on a device: rows are padded to whole vectors.
#ifndef PENSTOCK_TRAINER_BACKEND_DEVICE_DEVICE_LAYOUT_H_
#define PENSTOCK_TRAINER_BACKEND_DEVICE_DEVICE_LAYOUT_H_

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/numeric/bf16.h"
#include "trainer/model/parameter_table.h"

namespace penstock {

// Number of bf16 values in 16 bytes: every row of a matrix begins at a multiple of it. Checkpoints
// keep the model's own widths.
inline constexpr size_t kDeviceMultiple = 8;

// Thread-compatible.
class DeviceLayout {
 public:
  explicit DeviceLayout(const ModelConfig& config)
      : model_(ParameterTable::For(config)),
        padded_(ParameterTable::For(config, kDeviceMultiple)) {}

  const ParameterTable& model() const { return model_; }
  const ParameterTable& padded() const { return padded_; }

  // Converts an arena of model() to one of padded(), with zeros in the padding, and back.
  std::vector<float> Pad(std::span<const float> arena) const;
  std::vector<float> Unpad(std::span<const float> arena) const;

  // Returns for each run of reference::kDecayRun parameters of padded() 1 if they decay, else 0.
  std::vector<uint8_t> Decays() const;

 private:
  ParameterTable model_, padded_;
};

std::vector<Bf16> ToBf16(std::span<const float> values);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_DEVICE_LAYOUT_H_
