#include "cli/stream/stats_json.h"

namespace penstock {

nlohmann::json ServersToJson(const LoaderStats& stats) {
  nlohmann::json servers = nlohmann::json::array();
  for (const LoaderStats::Server& server : stats.servers) {
    servers.push_back({{"address", server.address},
                       {"parts", server.parts},
                       {"rows", server.rows},
                       {"bytes", server.bytes},
                       {"windows", server.windows},
                       {"lost_requests", server.lost_requests},
                       {"late_requests", server.late_requests},
                       {"windows_handed_over", server.windows_handed_over},
                       {"extra_loads", server.extra_loads},
                       {"backoffs", server.backoffs},
                       {"stream_breaks", server.stream_breaks},
                       {"shared_memory", server.shared_memory},
                       {"no_further_connection", server.no_further_connection},
                       {"connected", server.connected},
                       {"problem", server.problem}});
  }
  return servers;
}

nlohmann::json CountersToJson(const LoaderStats& stats) {
  return {{"rows", stats.rows},
          {"steps", stats.batches},
          {"bytes", stats.bytes},
          {"replaced_records", stats.replaced_records},
          {"damaged", stats.damaged},
          {"undecodable_rows", stats.undecodable_rows},
          {"truncated_images", stats.images.truncated},
          {"image_warnings", stats.images.warnings}};
}

}  // namespace penstock
