// Measures how much the positions of a batch have in common.
#ifndef PENSTOCK_BENCH_POSITION_MIXING_H_
#define PENSTOCK_BENCH_POSITION_MIXING_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "client/plan/testing/mixing.h"
#include "records/dataset/manifest.h"

namespace penstock {

// The chess records of a data set, in file order.
struct Positions {
  static constexpr size_t kBytes = 192;  // Bytes of a position's planes, which have 1,536 bits.
  std::vector<uint8_t> planes;
  std::vector<int64_t> scores;

  uint32_t rows() const { return static_cast<uint32_t>(scores.size()); }
};

// Reads the records through a loader in this process. The shards lie in the manifest's folder.
absl::StatusOr<Positions> ReadPositions(std::shared_ptr<const Manifest> manifest);

// Returns the correlation of two different positions of a batch, each seen as its 1,536 bits. It is
// <x - m, y - m> / (sum of the bits' variances), averaged over all pairs of a batch and all
// batches; m is the mean over all positions. It is 0 if positions are independent, and 1 if all
// positions of a batch are the same.
double PositionCorrelation(const RecordOrder& order, const Positions& positions,
                           uint32_t batch_rows);

// Returns the entropy in bits of a batch's scores in 16 classes of equal size, averaged over all
// batches. It is at most 4; a batch of independent positions has a little less.
double LabelEntropy(const RecordOrder& order, const Positions& positions, uint32_t batch_rows);

}  // namespace penstock

#endif  // PENSTOCK_BENCH_POSITION_MIXING_H_
