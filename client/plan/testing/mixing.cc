#include "client/plan/testing/mixing.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "client/plan/window_order.h"
#include "records/base/counter_rng.h"

namespace penstock {
namespace {

Plan MakePlan(const GroupedData& data, const PlanOptions& options) {
  ChunkTable table;
  table.rows.assign(data.chunks, data.chunk_rows);
  table.bytes.assign(data.chunks, 1);
  return *Plan::Create(std::move(table), options);
}

}  // namespace

std::vector<float> GroupedData::Values(uint64_t seed) const {
  CounterRng rng(seed);
  std::vector<float> values(rows());
  float value = 0;
  for (uint64_t i = 0; i < values.size(); ++i) {
    if (i % group_rows == 0) value = static_cast<float>(rng.Uniform());
    values[i] = value;
  }
  return values;
}

std::vector<float> PlanOrder(const GroupedData& data, const std::vector<float>& values,
                             const PlanOptions& options, uint64_t epoch) {
  const Plan plan = MakePlan(data, options);
  const EpochOrder order = plan.Epoch(epoch);
  std::vector<std::vector<RowRef>> windows(order.num_lanes());  // Each lane's current one.
  std::vector<float> ordered;
  ordered.reserve(values.size());
  EpochOrder::Walker walker(order);
  for (WindowRun run; walker.Next(order.rows(), run);) {
    std::vector<RowRef>& window = windows[run.window.lane];
    if (run.first_row == 0) window = WindowOrder(plan, order, run.window);
    for (uint32_t i = 0; i < run.rows; ++i) {
      const RowRef& at = window[run.first_row + i];
      ordered.push_back(values[uint64_t{at.chunk} * data.chunk_rows + at.row]);
    }
  }
  return ordered;
}

std::vector<float> ShuffleBufferOrder(const std::vector<float>& values, uint64_t buffer_rows,
                                      uint64_t seed) {
  CounterRng rng(seed);
  const size_t held = std::min<uint64_t>(buffer_rows, values.size());
  std::vector<float> buffer(values.begin(), values.begin() + static_cast<ptrdiff_t>(held));
  std::vector<float> ordered;
  ordered.reserve(values.size());
  for (size_t next = held; next < values.size(); ++next) {
    ordered.push_back(std::exchange(buffer[rng.Below(held)], values[next]));
  }
  for (; !buffer.empty(); buffer.pop_back()) {
    std::swap(buffer[rng.Below(buffer.size())], buffer.back());
    ordered.push_back(buffer.back());
  }
  return ordered;
}

std::vector<float> PermutedOrder(std::vector<float> values, uint64_t seed) {
  CounterRng rng(seed);
  for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[rng.Below(i)]);
  return values;
}

double RelativeVariance(const std::vector<float>& order, uint64_t batch_rows) {
  const double rows = static_cast<double>(order.size());
  const double mean = std::accumulate(order.begin(), order.end(), 0.0) / rows;
  double squares = 0;
  for (float value : order) squares += (value - mean) * (value - mean);

  const uint64_t batches = order.size() / batch_rows;
  double batch_squares = 0;
  for (uint64_t b = 0; b < batches; ++b) {
    const float* first = &order[b * batch_rows];
    const double sum = std::accumulate(first, first + batch_rows, 0.0);
    const double difference = sum / static_cast<double>(batch_rows) - mean;
    batch_squares += difference * difference;
  }
  const double batch = static_cast<double>(batch_rows);
  const double expected = squares / rows / batch * (rows - batch) / (rows - 1);
  return batch_squares / static_cast<double>(batches) / expected;
}

}  // namespace penstock
