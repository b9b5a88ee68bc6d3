#include "trainer/app/divergence_report.h"
#include "base/bytes_of.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/io/atomic_file.h"
#include "base/json_text.h"
#include "nlohmann/json.hpp"
#include "records/format/record_id.h"

namespace penstock {
namespace {

using Json = nlohmann::ordered_json;

Json RecordJson(uint64_t id, const Manifest& manifest) {
  const uint64_t ordinal = OrdinalOf(id);
  const RecordPlace place = manifest.PlaceOf(ordinal);
  return {{"record_id", ordinal},
          {"shard", place.shard.path},
          {"chunk_offset", place.chunk.offset},
          {"record", place.number},
          {"replaced", IsReplaced(id)}};
}

}  // namespace

std::string DivergenceJson(const Divergence& divergence, const Manifest& manifest) {
  Json rows = Json::array();
  // The number of results per row: 1 for a prediction, 2 for a loss and a class.
  const size_t results = std::max<size_t>(
      1, divergence.predictions.size() / std::max<size_t>(1, divergence.batch.rows));
  for (size_t row = 0; row < divergence.batch.rows; ++row) {
    Json entry{{"row", row}};
    if (row < divergence.batch.record_ids.size()) {
      entry.update(RecordJson(divergence.batch.record_ids[row], manifest));
    }
    if (row * results < divergence.predictions.size()) {
      entry["finite"] = std::isfinite(divergence.predictions[row * results]);
    }
    rows.push_back(std::move(entry));
  }
  return JsonText(Json{{"step", divergence.step},
                       {"position", divergence.batch.first_position},
                       {"problem", std::string(divergence.problem)},
                       {"rows", std::move(rows)}},
                  2) +
         "\n";
}

std::string ReportDivergence(const Divergence& divergence, const Manifest& manifest,
                             const std::string& folder, const std::string& mark) {
  const std::string path = absl::StrCat(folder, folder.empty() ? "" : "/", "diverged-step-",
                                        divergence.step, mark, ".json");
  const std::string json = DivergenceJson(divergence, manifest);
  std::error_code ignored;  // If this fails, writing the file fails too.
  if (!folder.empty()) std::filesystem::create_directories(folder, ignored);
  const absl::Status written = WriteFileAtomically(path, BytesOf(json));
  if (!written.ok()) return absl::StrCat("; its records could not be listed: ", written.message());
  return absl::StrCat("; its records are listed in ", path);
}

}  // namespace penstock
