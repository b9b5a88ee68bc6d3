// A model's weights as a safetensors file, which PyTorch and other programs read and write.
//
// Little-endian: uint64 bytes of the header; the header, JSON padded with spaces to a multiple of
// 8; the numbers, float32, tensor by tensor. docs/reference/checkpoint_format.md lists names and
// shapes. Source: https://github.com/huggingface/safetensors, "Format".
#ifndef PENSTOCK_TRAINER_CHECKPOINT_SAFETENSORS_H_
#define PENSTOCK_TRAINER_CHECKPOINT_SAFETENSORS_H_

#include <map>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "trainer/model/parameter_table.h"

namespace penstock {

// Writes one F32 tensor per parameter; `metadata` becomes "__metadata__". Replaces `path`
// atomically. REQUIRES: arena.size() == table.arena_size().
absl::Status WriteSafetensors(const std::string& path, const ParameterTable& table,
                              std::span<const float> arena,
                              const std::map<std::string, std::string>& metadata);

// Fills `arena`; its gaps become zero. Reads F32 and BF16 tensors, in any order. On an error,
// `arena` is unspecified. kNotFound: no such file. kDataLoss: truncated, or not a safetensors file.
// kFailedPrecondition: a tensor is missing, has another shape or type, or does not belong to the
// model; the message names it. REQUIRES: arena.size() == table.arena_size().
absl::Status ReadSafetensors(const std::string& path, const ParameterTable& table,
                             std::span<float> arena);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CHECKPOINT_SAFETENSORS_H_
