// Finds single values of a record by the feature's name.
#ifndef PENSTOCK_CLI_DATA_FEATURE_VALUES_H_
#define PENSTOCK_CLI_DATA_FEATURE_VALUES_H_

#include <cstdint>
#include <optional>
#include <span>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "records/dataset/feature_info.h"

namespace penstock {

// Calls `visit` with each value of each bytes feature. A raw record has one value, under the name
// kRawFeature. Stops early if the record is broken.
void ForEachBytesValue(
    RecordFormat format, std::span<const uint8_t> payload,
    absl::FunctionRef<void(absl::string_view feature, std::span<const uint8_t> value)> visit);

// Returns the first value of a bytes feature; it points into `payload`.
std::optional<std::span<const uint8_t>> FirstBytes(RecordFormat format,
                                                   std::span<const uint8_t> payload,
                                                   absl::string_view feature);

// Returns the first value of an int64 feature.
std::optional<int64_t> FirstInt(std::span<const uint8_t> payload, absl::string_view feature);

}  // namespace penstock

#endif  // PENSTOCK_CLI_DATA_FEATURE_VALUES_H_
