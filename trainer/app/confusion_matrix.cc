#include "trainer/app/confusion_matrix.h"

#include <algorithm>
#include <numeric>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/bytes_of.h"
#include "base/drawing/png.h"
#include "base/io/atomic_file.h"
#include "base/status.h"
#include "base/text.h"
#include "trainer/app/classes.h"

namespace penstock {
namespace {

// DrawCountGrid() draws at most this many pixels per side, and each class needs one.
constexpr size_t kMostDrawnClasses = 4000;

}  // namespace

absl::Status CheckHasConfusions(const ModelConfig& model) {
  if (!model.is_image()) {
    return absl::FailedPreconditionError(absl::StrCat("--confusion-matrix: the checkpoint's model ",
                                                      model.name,
                                                      " scores positions and has no classes"));
  }
  if (model.classes <= kMostDrawnClasses) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("--confusion-matrix: the model has ", model.classes,
                   " classes, and the picture can show at most ", kMostDrawnClasses,
                   "; count the predictions that penstock-train predict --manifest writes"));
}

absl::StatusOr<BatchRows> ConfusionReader::Read(const InputBatch& batch) {
  PENSTOCK_ASSIGN_OR_RETURN(const BatchRows rows, reader_.Read(batch));
  logits_.resize(rows.rows * backend_.classes());
  PENSTOCK_RETURN_IF_ERROR(backend_.Logits(rows, logits_));
  matrix_.Add(logits_, {rows.targets, rows.rows});
  return rows;
}

void ConfusionMatrix::Add(std::span<const float> logits, std::span<const float> labels) {
  for (size_t row = 0; row < labels.size(); ++row) {
    const std::span<const float> own = logits.subspan(row * classes_, classes_);
    const auto taken = std::max_element(own.begin(), own.end()) - own.begin();
    ++counts_[static_cast<size_t>(labels[row]) * classes_ + static_cast<size_t>(taken)];
  }
}

uint64_t ConfusionMatrix::records() const {
  return std::accumulate(counts_.begin(), counts_.end(), uint64_t{0});
}

uint64_t ConfusionMatrix::hits() const {
  uint64_t hits = 0;
  for (size_t i = 0; i < classes_; ++i) hits += count(i, i);
  return hits;
}

CountGrid ConfusionMatrix::Grid(const std::vector<std::string>& names,
                                const std::string& split) const {
  std::vector<std::string> classes(classes_);
  for (size_t i = 0; i < classes_; ++i) classes[i] = ClassName(names, i);
  const double percent = 100 * static_cast<double>(hits()) / static_cast<double>(records());
  return {.title = "Confusion matrix",
          .subtitle = absl::StrFormat("%s: accuracy %.1f %% over %s records", split, percent,
                                      Grouped(records())),
          .row_title = "true class",
          .column_title = "predicted class",
          .row_names = classes,
          .column_names = classes,
          .counts = counts_};
}

absl::Status CheckConfusionMatrixName(const std::string& path) {
  if (absl::EndsWithIgnoreCase(path, ".png")) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--confusion-matrix: '", path, "' must end in .png"));
}

absl::Status WriteCountGrid(const CountGrid& grid, const std::string& path) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::string png, EncodePng(DrawCountGrid(grid)));
  return WriteFileAtomically(path, BytesOf(png));
}

}  // namespace penstock
