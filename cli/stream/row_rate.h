// Adds the rate of rows to the JSON of commands.
#ifndef PENSTOCK_CLI_STREAM_ROW_RATE_H_
#define PENSTOCK_CLI_STREAM_ROW_RATE_H_

#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace penstock {

// Adds rows_per_second and, if rows are positions, the same value under its older name. `rows_name`
// comes from RowsName().
inline void AddRate(double rate, absl::string_view rows_name, nlohmann::json& json) {
  json["rows_per_second"] = rate;
  if (rows_name == "positions") json["positions_per_second"] = rate;
}

}  // namespace penstock

#endif  // PENSTOCK_CLI_STREAM_ROW_RATE_H_
