// Counts how often a model mistakes images of one class for another.
#ifndef PENSTOCK_TRAINER_APP_CONFUSION_MATRIX_H_
#define PENSTOCK_TRAINER_APP_CONFUSION_MATRIX_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/drawing/count_grid.h"
#include "trainer/backend/cpu/cpu_backend.h"
#include "trainer/input/batch_reader.h"
#include "trainer/model/model_config.h"

namespace penstock {

// Counts of (true class, likeliest class). Not thread-safe.
class ConfusionMatrix {
 public:
  // REQUIRES: classes > 0.
  explicit ConfusionMatrix(size_t classes) : classes_(classes), counts_(classes * classes) {}

  // `logits` are (labels.size(), classes). If classes are equally likely, the one with the lowest
  // number counts, as in evaluations. REQUIRES: every label is a class number.
  void Add(std::span<const float> logits, std::span<const float> labels);

  uint64_t records() const;
  uint64_t hits() const;
  uint64_t count(size_t truth, size_t taken) const { return counts_[truth * classes_ + taken]; }

  // Classes without a name in `names` show their number. `split` names the origin of the records.
  CountGrid Grid(const std::vector<std::string>& names, const std::string& split) const;

 private:
  size_t classes_;
  std::vector<uint64_t> counts_;  // [true class][likeliest class]
};

// kInvalidArgument: the name does not end in .png.
absl::Status CheckConfusionMatrixName(const std::string& path);

// kFailedPrecondition: a model of boards, or more classes than a picture has room for.
absl::Status CheckHasConfusions(const ModelConfig& model);

// Counts the predictions of a model while an evaluation reads batches. The constructor's arguments
// must outlive this object.
class ConfusionReader final : public BatchReader {
 public:
  ConfusionReader(BatchReader& reader, CpuBackend& backend, ConfusionMatrix& matrix)
      : reader_(reader), backend_(backend), matrix_(matrix) {}

  // Errors are those of the reader and of CpuBackend::Logits().
  absl::StatusOr<BatchRows> Read(const InputBatch& batch) override;

 private:
  BatchReader& reader_;
  CpuBackend& backend_;
  ConfusionMatrix& matrix_;
  std::vector<float> logits_;
};

// Writes the picture of a grid atomically.
absl::Status WriteCountGrid(const CountGrid& grid, const std::string& path);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_CONFUSION_MATRIX_H_
