// A loader's counters as JSON, by the names that scripts know.
#ifndef PENSTOCK_CLI_STREAM_STATS_JSON_H_
#define PENSTOCK_CLI_STREAM_STATS_JSON_H_

#include <nlohmann/json.hpp>

#include "client/loader/loader.h"

namespace penstock {

// An array, an object for each server.
nlohmann::json ServersToJson(const LoaderStats& stats);

// An object: what was read and replaced, over all servers.
nlohmann::json CountersToJson(const LoaderStats& stats);

}  // namespace penstock

#endif  // PENSTOCK_CLI_STREAM_STATS_JSON_H_
