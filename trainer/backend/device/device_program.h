// A block program translated to a list of device operations.
#ifndef PENSTOCK_TRAINER_BACKEND_DEVICE_DEVICE_PROGRAM_H_
#define PENSTOCK_TRAINER_BACKEND_DEVICE_DEVICE_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/numeric/counter_random.h"
#include "trainer/backend/device/device.h"
#include "trainer/backend/device/device_layout.h"
#include "trainer/step/gradient_buckets.h"
#include "trainer/step/input_format.h"
#include "trainer/step/program.h"

namespace penstock {

// Addresses of one virtual shard's arenas on the device.
struct ShardMemory {
  float* parameters = nullptr;
  Bf16* copies = nullptr;  // bf16 copies of the parameters, or null.
  float* gradients = nullptr;
  char* activations = nullptr;
  char* input = nullptr;  // Packed records, planes or pixels.
  char* flags = nullptr;
  float* targets = nullptr;
  float* weights = nullptr;  // Weight of each row in the loss: 1 / global rows, or 0.
  float* predictions = nullptr;
  char* workspace = nullptr;
  DropoutDraw* draws = nullptr;  // One draw for each dropout site.
};

// Thread-compatible.
class DeviceProgram {
 public:
  enum class Purpose : uint8_t { kTraining, kInference };
  struct Options {
    Purpose purpose = Purpose::kTraining;
    InputFormat format = kPackedBoards;
    size_t rows = 0;  // Samples per shard; every shard computes this many.
    bool bf16 = false;
  };

  // Makes the device prepare the matrix products. kUnimplemented: the device lacks a product; the
  // message names it.
  static absl::StatusOr<DeviceProgram> Build(const ModelConfig& config, const DeviceLayout& layout,
                                             const Options& options, Device& device);

  // Runs each product once on `memory`, whose contents are lost: Device::Try(). Errors are those of
  // Build().
  absl::Status TryProducts(const ShardMemory& memory, Device& device) const;

  // Times each product on `memory`, whose contents are lost: Device::ChooseFastest().
  absl::Status ChooseFastestProducts(const ShardMemory& memory, Device& device) const;

  // Number of operations of a shard.
  size_t num_ops() const { return workspaces_.size(); }

  // Sizes of a shard's memory, in bytes.
  size_t activation_bytes() const { return program_.activation_size * element_bytes(); }
  size_t workspace_bytes() const { return workspace_bytes_; }

  // The gradients in buckets of `floats` floats or somewhat more: CutGradients(). Operations are
  // numbered as in OpsOn(). REQUIRES: a training program.
  std::vector<GradientBucket> Buckets(size_t arena, size_t floats) const;

  // The operations in order, on this memory.
  std::vector<DeviceOp> OpsOn(const ShardMemory& memory) const;

 private:
  DeviceProgram() = default;
  size_t element_bytes() const { return bf16_ ? 2 : 4; }
  // Calls `work` for one product of each key. Errors get the product's name.
  absl::Status ForEachProduct(const ShardMemory& memory,
                              absl::FunctionRef<absl::Status(const DeviceOp&)> work) const;
  void Place();
  void FindWorkspace(Device& device);
  void Append(const Op& op, const ShardMemory& memory, std::vector<DeviceOp>& list) const;
  // Adds or changes operands that differ from those of the program.
  void Adapt(const Op& op, const ShardMemory& memory, DeviceOp& result) const;
  DeviceOperand Resolve(const Operand& operand, const ShardMemory& memory, bool as_float) const;

  StepProgram program_;
  bool bf16_ = false;
  InputFormat format_ = kPackedBoards;
  size_t results_ = 1;  // Floats per row in predictions.
  size_t workspace_bytes_ = 0;
  std::vector<size_t> workspaces_;  // Bytes of workspace for each operation of OpsOn().
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_DEVICE_PROGRAM_H_
