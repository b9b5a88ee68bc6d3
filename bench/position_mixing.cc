#include "bench/position_mixing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/status.h"
#include "client/loader/loader.h"
#include "records/decode/spec.h"

namespace penstock {
namespace {

constexpr size_t kBits = Positions::kBytes * 8;
constexpr size_t kClasses = 16;

void Append(const Batch& batch, Positions& positions) {
  const TensorView& d = *batch.tensor("d");
  const TensorView& s = *batch.tensor("s");
  const size_t row_bytes = d.bytes.size() / batch.rows();
  for (size_t row = 0; row < batch.rows(); ++row) {
    const uint8_t* planes = d.bytes.data() + row * row_bytes;
    positions.planes.insert(positions.planes.end(), planes, planes + Positions::kBytes);
    int64_t score = 0;
    std::memcpy(&score, s.bytes.data() + row * sizeof score, sizeof score);
    positions.scores.push_back(score);
  }
}

std::span<const uint8_t> Planes(const Positions& positions, uint32_t record) {
  return std::span(positions.planes).subspan(record * Positions::kBytes, Positions::kBytes);
}

bool Bit(std::span<const uint8_t> planes, size_t bit) {
  return (planes[bit / 8] >> (7 - bit % 8) & 1) != 0;
}

// Returns, for each bit, the number of `records` that have it set.
std::array<uint32_t, kBits> BitCounts(std::span<const uint32_t> records,
                                      const Positions& positions) {
  std::array<uint32_t, kBits> counts = {};
  for (uint32_t record : records) {
    const std::span<const uint8_t> planes = Planes(positions, record);
    for (size_t bit = 0; bit < kBits; ++bit) counts[bit] += Bit(planes, bit) ? 1 : 0;
  }
  return counts;
}

// Returns the boundaries between classes of equal size.
std::array<int64_t, kClasses - 1> ClassLimits(std::vector<int64_t> scores) {
  std::sort(scores.begin(), scores.end());
  std::array<int64_t, kClasses - 1> limits;
  for (size_t c = 1; c < kClasses; ++c) limits[c - 1] = scores[scores.size() * c / kClasses];
  return limits;
}

double Entropy(const std::array<uint32_t, kClasses>& counts, uint32_t total) {
  double entropy = 0;
  for (uint32_t count : counts) {
    if (count == 0) continue;
    const double share = static_cast<double>(count) / total;
    entropy -= share * std::log2(share);
  }
  return entropy;
}

}  // namespace

absl::StatusOr<Positions> ReadPositions(std::shared_ptr<const Manifest> manifest) {
  LoaderOptions options;
  options.manifest = std::move(manifest);
  PENSTOCK_ASSIGN_OR_RETURN(options.spec, LoadSpec("chess"));
  options.dtype = WireDtype::kPacked;
  options.plan.split = Split::kAll;
  options.plan.shuffle = false;
  options.remainder = Remainder::kShort;
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<Loader> loader, Loader::Open(std::move(options)));
  Positions positions;
  Batch batch;
  while (true) {
    PENSTOCK_ASSIGN_OR_RETURN(const bool more, loader->Next(batch));
    if (!more) return positions;
    Append(batch, positions);
  }
}

// Uses, over the pairs of a batch, sum <x - m, y - m> = |sum (x - m)|^2 - sum |x - m|^2.
double PositionCorrelation(const RecordOrder& order, const Positions& positions,
                           uint32_t batch_rows) {
  const std::array<uint32_t, kBits> all = BitCounts(order, positions);
  std::array<double, kBits> mean;
  double variance = 0;
  for (size_t bit = 0; bit < kBits; ++bit) {
    mean[bit] = all[bit] / static_cast<double>(order.size());
    variance += mean[bit] * (1 - mean[bit]);
  }
  const size_t batches = order.size() / batch_rows;
  double correlation = 0;
  for (size_t b = 0; b < batches; ++b) {
    const auto counts = BitCounts(std::span(order).subspan(b * batch_rows, batch_rows), positions);
    double pairs = 0;
    for (size_t bit = 0; bit < kBits; ++bit) {
      const double m = mean[bit], ones = counts[bit], zeros = batch_rows - ones;
      const double sum = ones - batch_rows * m;
      pairs += sum * sum - (ones * (1 - m) * (1 - m) + zeros * m * m);
    }
    correlation += pairs / batch_rows / (batch_rows - 1) / variance;
  }
  return correlation / static_cast<double>(batches);
}

double LabelEntropy(const RecordOrder& order, const Positions& positions, uint32_t batch_rows) {
  const auto limits = ClassLimits(positions.scores);
  const size_t batches = order.size() / batch_rows;
  double entropy = 0;
  for (size_t b = 0; b < batches; ++b) {
    std::array<uint32_t, kClasses> counts = {};
    for (uint32_t i = 0; i < batch_rows; ++i) {
      const int64_t score = positions.scores[order[b * batch_rows + i]];
      ++counts[std::upper_bound(limits.begin(), limits.end(), score) - limits.begin()];
    }
    entropy += Entropy(counts, batch_rows);
  }
  return entropy / static_cast<double>(batches);
}

}  // namespace penstock
