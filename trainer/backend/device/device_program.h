// A block program as a list of a device's operations.
#ifndef PENSTOCK_TRAINER_BACKEND_DEVICE_DEVICE_PROGRAM_H_
#define PENSTOCK_TRAINER_BACKEND_DEVICE_DEVICE_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/numeric/counter_random.h"
#include "trainer/backend/device/device.h"
#include "trainer/backend/device/device_layout.h"
#include "trainer/step/gradient_buckets.h"
#include "trainer/step/input_format.h"
#include "trainer/step/program.h"

namespace penstock {

// Where the arenas of one virtual shard lie on the device.
struct ShardMemory {
  float* parameters = nullptr;
  Bf16* copies = nullptr;  // Of the parameters, in bf16; else null.
  float* gradients = nullptr;
  char* activations = nullptr;
  char* input = nullptr;  // Packed records, planes or pixels.
  char* flags = nullptr;
  float* targets = nullptr;
  float* weights = nullptr;  // Of each row in the loss: 1 / global rows, or 0.
  float* predictions = nullptr;
  char* workspace = nullptr;
  DropoutDraw* draws = nullptr;  // One for each site of dropout.
};

// Thread-compatible.
class DeviceProgram {
 public:
  enum class Purpose : uint8_t { kTraining, kInference };
  struct Options {
    Purpose purpose = Purpose::kTraining;
    InputFormat format = kPackedBoards;
    size_t rows = 0;  // Samples of a shard: it always computes as many.
    bool bf16 = false;
  };

  // Has the device prepare its matrix products. Where it cannot end one in a GELU, or one
  // backward in the GELU's, those are operations of their own, all of them. kUnimplemented: the
  // device lacks a product, named.
  static absl::StatusOr<DeviceProgram> Build(const ModelConfig& config, const DeviceLayout& layout,
                                             const Options& options, Device& device);

  // What a shard's memory must hold, in bytes.
  size_t activation_bytes() const { return program_.activation_size * element_bytes(); }
  size_t workspace_bytes() const { return workspace_bytes_; }

  // The gradients in buckets of `floats` or somewhat more, as CutGradients() has it; their
  // operations are counted as OpsOn() lists them. REQUIRES: a training.
  std::vector<GradientBucket> Buckets(size_t arena, size_t floats) const;

  // The operations, in order, on this memory.
  std::vector<DeviceOp> OpsOn(const ShardMemory& memory) const;

 private:
  DeviceProgram() = default;
  size_t element_bytes() const { return bf16_ ? 2 : 4; }
  absl::Status PrepareProducts(Device& device);
  void Place();
  void FindWorkspace(Device& device);
  void Append(const Op& op, const ShardMemory& memory, std::vector<DeviceOp>& list) const;
  // Operands that the program does not name, or names otherwise.
  void Adapt(const Op& op, const ShardMemory& memory, DeviceOp& result) const;
  DeviceOperand Resolve(const Operand& operand, const ShardMemory& memory, bool as_float) const;

  StepProgram program_;
  bool bf16_ = false;
  InputFormat format_ = kPackedBoards;
  size_t results_ = 1;  // Floats of a row in predictions.
  size_t workspace_bytes_ = 0;
  std::vector<size_t> workspaces_;  // Of OpsOn()'s operations.
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_DEVICE_PROGRAM_H_
