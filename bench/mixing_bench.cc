// Measures how well the plan mixes, compared with a 10,000-record shuffle buffer and a full
// permutation. Prints JSON. The figures are deterministic. docs/concepts/shuffling.md explains
// them, and bench/plot_mixing.py draws them.
//
//   mixing_bench [--chunks N] [--fleets] [--positions MANIFEST] [--json FILE]
//
//   simulated   Records in file order have one value per group: a whole chunk, a game of 80, or the
//               images of a class. Reports the variance of a batch's mean, relative to that
//               expected of a full permutation, and the memory of all windows read side by side.
//   sweeps      the same while one of K, L, S and the records of a chunk changes
//   fleets      the same with lanes for N servers, in the smallest data set that the page advises
//   positions   real chess records, if given: correlation of a batch's positions, entropy of its
//               labels, distance between neighbours
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "base/flags/command_line.h"
#include "base/status.h"
#include "bench/position_mixing.h"
#include "client/plan/testing/mixing.h"
#include "nlohmann/json.hpp"
#include "records/dataset/open_dataset.h"

namespace penstock {
namespace {

using nlohmann::ordered_json;

constexpr uint32_t kBatch = 512;
constexpr uint32_t kBuffer = 10000;
constexpr uint32_t kChunkRows = 1220;  // Chess records in 256 KiB.
constexpr uint32_t kGameRows = 80;
constexpr uint32_t kImages = 1'281'000;  // These images are in 1,000 classes.
constexpr uint32_t kClassImages = 1281;
constexpr uint32_t kChunkBytes = 256 << 10;

// Returns means over `epochs`. Each epoch has its own values.
ordered_json Simulate(const GroupedData& data, uint64_t chunk_bytes = kChunkBytes,
                      uint32_t epochs = 1) {
  const Plan plan = data.MakePlan();
  double planned = 0, buffered = 0, permuted = 0;
  for (uint32_t epoch = 0; epoch < epochs; ++epoch) {
    const std::vector<float> values = data.Values(/*seed=*/1 + epoch);
    const auto add = [&](const RecordOrder& order, double& mean) {
      mean += RelativeVariance(order, values, kBatch) / epochs;
    };
    add(PlanRecords(plan, epoch), planned);
    add(ShuffleBufferRecords(data.rows(), kBuffer, 2 + epoch), buffered);
    add(PermutedRecords(data.rows(), 3 + epoch), permuted);
  }
  const PlanOptions& options = plan.options();
  return {{"records", data.rows()},
          {"records_of_one_value", data.group_rows},
          {"records_of_a_chunk", data.chunk_rows},
          {"S", plan.strip_rows()},
          {"windows_mib", (chunk_bytes * options.window_chunks * options.lanes) >> 20},
          {"plan", planned},
          {"shuffle_buffer_10000", buffered},
          {"full_permutation", permuted}};
}

// Simulates images sorted by class, as in a folder for each class. An epoch has few batches, so
// several epochs are averaged.
ordered_json SimulateImages(uint32_t chunk_images, uint64_t chunk_bytes) {
  constexpr uint32_t kEpochs = 8;
  return Simulate({kImages / chunk_images, chunk_images, kClassImages}, chunk_bytes, kEpochs);
}

ordered_json SimulateAll(uint32_t chunks) {
  return {{"homogeneous_chunks", Simulate({chunks, kChunkRows, kChunkRows})},
          {"games_of_80", Simulate({chunks, kChunkRows, kGameRows})},
          {"images_2_a_chunk", SimulateImages(2, kChunkBytes)},
          {"images_3_a_chunk", SimulateImages(3, kChunkBytes)},
          {"images_19_a_chunk", SimulateImages(19, 8 * kChunkBytes)}};
}

// Adds to `point` the variance of batches of `batch` rows, for homogeneous chunks and games of 80.
void AddVariances(uint32_t chunks, uint32_t chunk_rows, const PlanOptions& options, uint32_t batch,
                  ordered_json& point) {
  for (uint32_t group_rows : {chunk_rows, kGameRows}) {
    const GroupedData data = {chunks, chunk_rows, group_rows};
    const RecordOrder order = PlanRecords(data.MakePlan(options), /*epoch=*/0);
    point[group_rows == kGameRows ? "games_of_80" : "homogeneous_chunks"] =
        RelativeVariance(order, data.Values(1), batch);
  }
}

ordered_json Point(const char* name, uint64_t value, uint32_t chunks, uint32_t chunk_rows,
                   const PlanOptions& options) {
  ordered_json point = {{name, value}};
  AddVariances(chunks, chunk_rows, options, kBatch, point);
  return point;
}

ordered_json Sweeps(uint32_t chunks) {
  ordered_json sweeps;
  for (uint32_t k : {1, 2, 4, 8, 16, 32, 64}) {
    sweeps["K"].push_back(Point("K", k, chunks, kChunkRows, {.window_chunks = k}));
  }
  for (uint32_t l : {1, 4, 16, 64, 256, 1024}) {
    sweeps["L"].push_back(Point("L", l, chunks, kChunkRows, {.lanes = l}));
  }
  for (uint32_t s : {1, 4, 16, 64, 256}) {
    sweeps["S"].push_back(Point("S", s, chunks, kChunkRows, {.strip_rows = s}));
  }
  for (uint32_t rows : {100, 305, 1220, 4880, 19520}) {
    const uint32_t count = static_cast<uint32_t>(uint64_t{chunks} * kChunkRows / rows);
    sweeps["chunk_records"].push_back(Point("chunk_records", rows, count, rows, {}));
  }
  return sweeps;
}

// Simulates four lanes a server, and as many chunks as two windows a lane take.
ordered_json Fleet(uint32_t servers, uint32_t strip_rows, uint32_t batch) {
  const uint32_t lanes = 4 * servers;
  const uint32_t chunks = 2 * PlanOptions().window_chunks * lanes;
  ordered_json fleet = {{"servers", servers}, {"S", strip_rows}, {"batch", batch}};
  AddVariances(chunks, kChunkRows, {.lanes = lanes, .strip_rows = strip_rows}, batch, fleet);
  return fleet;
}

ordered_json Fleets() {
  ordered_json fleets;
  for (uint32_t servers : {16, 64, 256}) {
    for (uint32_t batch : {kBatch, 8 * kBatch}) {
      for (uint32_t strip_rows : {16, 4, 1}) {
        fleets.push_back(Fleet(servers, strip_rows, batch));
      }
    }
  }
  return fleets;
}

ordered_json Describe(const RecordOrder& order, const Positions& positions) {
  return {{"position_correlation", PositionCorrelation(order, positions, kBatch)},
          {"label_entropy_bits", LabelEntropy(order, positions, kBatch)},
          {"median_neighbour_distance", MedianNeighbourDistance(order)},
          {"neighbours_within_80", ShareOfNeighboursWithin(order, kGameRows)}};
}

absl::StatusOr<ordered_json> MeasurePositions(const std::string& path) {
  PENSTOCK_ASSIGN_OR_RETURN(OpenedDataset dataset, OpenDataset(path));
  auto manifest = std::make_shared<const Manifest>(std::move(dataset.manifest));
  PENSTOCK_ASSIGN_OR_RETURN(const Positions positions, ReadPositions(manifest));
  PENSTOCK_ASSIGN_OR_RETURN(const Plan plan, Plan::Create(MakeChunkTable(*manifest, Split::kAll),
                                                          {.split = Split::kAll}));
  const uint32_t rows = positions.rows();
  return ordered_json{
      {"records", rows},
      {"chunks", plan.num_chunks()},
      {"file_order", Describe(FileRecords(rows), positions)},
      {"shuffle_buffer_10000", Describe(ShuffleBufferRecords(rows, kBuffer, 2), positions)},
      {"plan", Describe(PlanRecords(plan, /*epoch=*/0), positions)},
      {"full_permutation", Describe(PermutedRecords(rows, 3), positions)}};
}

int Main(int argc, char** argv) {
  uint32_t chunks = 8192;
  bool fleets = false;
  std::string positions, file;
  CLI::App app("How well the plan mixes.");
  app.option_defaults()->always_capture_default();
  app.add_option("--chunks", chunks, "Chunks of the simulated data")
      ->check(CLI::Range(256, 1 << 17));
  app.add_flag("--fleets", fleets, "Add lanes for 16 to 256 servers (takes 2 GB and minutes)");
  app.add_option("--positions", positions, "MANIFEST or DIR of chess records");
  app.add_option("--json", file, "Write to this file instead of standard output");
  if (const auto code = ParseCommandLine(app, "mixing_bench", argc, argv)) return *code;

  ordered_json result = {{"batch", kBatch}};
  result["simulated"] = SimulateAll(chunks);
  result["sweeps"] = Sweeps(chunks);
  if (fleets) result["fleets"] = Fleets();
  if (!positions.empty()) {
    absl::StatusOr<ordered_json> measured = MeasurePositions(positions);
    if (!measured.ok()) {
      std::fprintf(stderr, "mixing_bench: %s\n", measured.status().ToString().c_str());
      return 1;
    }
    result["positions"] = *measured;
  }
  if (file.empty()) {
    std::cout << result.dump(2) << "\n";
    return 0;
  }
  std::ofstream out(file);
  out << result.dump(2) << "\n";
  return out.flush().good() ? 0 : 1;
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) { return penstock::Main(argc, argv); }
