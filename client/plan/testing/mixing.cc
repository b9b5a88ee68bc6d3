#include "client/plan/testing/mixing.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/counter_rng.h"
#include "client/plan/step_rows.h"

namespace penstock {
namespace {

std::vector<uint32_t> FirstRecords(const Plan& plan) {
  std::vector<uint32_t> first(plan.num_chunks());
  uint32_t records = 0;
  for (uint32_t chunk = 0; chunk < first.size(); ++chunk) {
    first[chunk] = records;
    records += plan.chunk_rows(chunk);
  }
  return first;
}

std::vector<uint32_t> NeighbourDistances(const RecordOrder& order) {
  std::vector<uint32_t> distances;
  for (size_t i = 1; i < order.size(); ++i) {
    distances.push_back(std::max(order[i], order[i - 1]) - std::min(order[i], order[i - 1]));
  }
  return distances;
}

}  // namespace

std::vector<float> GroupedData::Values(uint64_t seed) const {
  CounterRng rng(seed);
  std::vector<float> values(rows());
  float value = 0;
  for (uint32_t i = 0; i < values.size(); ++i) {
    if (i % group_rows == 0) value = static_cast<float>(rng.Uniform());
    values[i] = value;
  }
  return values;
}

Plan GroupedData::MakePlan(const PlanOptions& options) const {
  ChunkTable table;
  table.rows.assign(chunks, chunk_rows);
  table.bytes.assign(chunks, 1);
  return *Plan::Create(std::move(table), options);
}

RecordOrder FileRecords(uint32_t rows) {
  RecordOrder order(rows);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

RecordOrder PlanRecords(const Plan& plan, uint64_t epoch) {
  const std::vector<uint32_t> first = FirstRecords(plan);
  const EpochOrder order = plan.Epoch(epoch);
  std::vector<std::vector<RowRef>> windows(order.num_lanes());  // The current window of each lane.
  RecordOrder records;
  records.reserve(order.rows());
  EpochOrder::Walker walker(order);
  for (WindowRun run; walker.Next(order.rows(), run);) {
    std::vector<RowRef>& window = windows[run.window.lane];
    if (run.first_row == 0) window = WindowOrder(plan, order, run.window);
    for (uint32_t i = 0; i < run.rows; ++i) {
      const RowRef& at = window[run.first_row + i];
      records.push_back(first[at.chunk] + at.row);
    }
  }
  return records;
}

RecordOrder ShuffleBufferRecords(uint32_t rows, uint32_t buffer_rows, uint64_t seed) {
  CounterRng rng(seed);
  const uint32_t held = std::min(buffer_rows, rows);
  RecordOrder buffer = FileRecords(held);
  RecordOrder order;
  order.reserve(rows);
  for (uint32_t next = held; next < rows; ++next) {
    order.push_back(std::exchange(buffer[rng.Below(held)], next));
  }
  for (; !buffer.empty(); buffer.pop_back()) {
    std::swap(buffer[rng.Below(buffer.size())], buffer.back());
    order.push_back(buffer.back());
  }
  return order;
}

RecordOrder PermutedRecords(uint32_t rows, uint64_t seed) {
  CounterRng rng(seed);
  RecordOrder order = FileRecords(rows);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.Below(i)]);
  return order;
}

double RelativeVariance(const RecordOrder& order, std::span<const float> values,
                        uint32_t batch_rows) {
  const double rows = static_cast<double>(order.size());
  double mean = 0;
  for (uint32_t record : order) mean += values[record] / rows;
  double squares = 0;
  for (uint32_t record : order) squares += (values[record] - mean) * (values[record] - mean);

  const size_t batches = order.size() / batch_rows;
  double batch_squares = 0;
  for (size_t b = 0; b < batches; ++b) {
    double sum = 0;
    for (uint32_t i = 0; i < batch_rows; ++i) sum += values[order[b * batch_rows + i]];
    const double difference = sum / batch_rows - mean;
    batch_squares += difference * difference;
  }
  const double expected = squares / rows / batch_rows * (rows - batch_rows) / (rows - 1);
  return batch_squares / static_cast<double>(batches) / expected;
}

uint32_t MedianNeighbourDistance(const RecordOrder& order) {
  std::vector<uint32_t> distances = NeighbourDistances(order);
  if (distances.empty()) return 0;
  const auto middle = distances.begin() + static_cast<ptrdiff_t>(distances.size() / 2);
  std::nth_element(distances.begin(), middle, distances.end());
  return *middle;
}

double ShareOfNeighboursWithin(const RecordOrder& order, uint32_t distance) {
  const std::vector<uint32_t> distances = NeighbourDistances(order);
  if (distances.empty()) return 0;
  const auto near = std::count_if(distances.begin(), distances.end(),
                                  [distance](uint32_t d) { return d <= distance; });
  return static_cast<double>(near) / static_cast<double>(distances.size());
}

}  // namespace penstock
