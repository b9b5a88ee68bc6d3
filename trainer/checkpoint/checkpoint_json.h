// The JSON inside a checkpoint.
#ifndef PENSTOCK_TRAINER_CHECKPOINT_CHECKPOINT_JSON_H_
#define PENSTOCK_TRAINER_CHECKPOINT_CHECKPOINT_JSON_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "trainer/checkpoint/checkpoint.h"

namespace penstock {

std::string CheckpointInfoToJson(const CheckpointInfo& info, const ParameterTable& table);

// kDataLoss: not the JSON of a checkpoint; the message has the reason.
absl::StatusOr<CheckpointInfo> CheckpointInfoFromJson(absl::string_view text);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CHECKPOINT_CHECKPOINT_JSON_H_
