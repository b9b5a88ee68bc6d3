// Shows the first rows of a dataset as a spec decodes them.
#ifndef PENSTOCK_CLI_DATA_DECODED_ROWS_H_
#define PENSTOCK_CLI_DATA_DECODED_ROWS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "proto/decode_spec.pb.h"
#include "records/decode/program.h"

namespace penstock {

struct DecodedRows {
  size_t rows = 0;
  std::vector<TensorInfo> tensors;
  std::vector<std::vector<uint8_t>> blocks;  // The rows of each tensor, one block for each.
};

// Decodes numbers as f32. The payloads have the ordinals 0, 1 and so on; ordinal and key determine
// the random parts of image operations. An error names the record, counted from the first of
// `payloads`.
absl::StatusOr<DecodedRows> DecodeFirst(const v1::DecodeSpec& spec,
                                        std::span<const std::string> payloads,
                                        uint64_t augmentation_key = 0);

// Returns a line for each row and tensor, with its first values.
std::string ToText(const DecodedRows& decoded);
nlohmann::json ToJson(const DecodedRows& decoded);

}  // namespace penstock

#endif  // PENSTOCK_CLI_DATA_DECODED_ROWS_H_
