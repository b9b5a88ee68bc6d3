// Writes a loader's counters as JSON, under the names that scripts know.
#ifndef PENSTOCK_CLI_STREAM_STATS_JSON_H_
#define PENSTOCK_CLI_STREAM_STATS_JSON_H_

#include <nlohmann/json.hpp>

#include "client/loader/loader.h"

namespace penstock {

// Returns an array with an object for each server.
nlohmann::json ServersToJson(const LoaderStats& stats);

// Returns an object with the numbers of records that were read and replaced, summed over all
// servers.
nlohmann::json CountersToJson(const LoaderStats& stats);

}  // namespace penstock

#endif  // PENSTOCK_CLI_STREAM_STATS_JSON_H_
