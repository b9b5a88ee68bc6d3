#include "trainer/app/predict_records.h"

#include <algorithm>
#include <cstdio>
#include <span>
#include <vector>

#include "base/bytes_of.h"
#include "base/print_escaped.h"
#include "base/status.h"
#include "trainer/app/judged_records.h"
#include "trainer/app/likeliest.h"

namespace penstock {
namespace {

constexpr size_t kRecordId = 0, kPrediction = 1, kTarget = 2;

std::vector<NpzArray> ArraysFor(const ModelConfig& model) {
  if (!model.is_image()) {
    return {{"record_id", Dtype::kI64}, {"prediction", Dtype::kF32}, {"target", Dtype::kF32}};
  }
  return {{"record_id", Dtype::kI64},
          {"prediction", Dtype::kF32, {static_cast<uint32_t>(model.classes)}},
          {"target", Dtype::kI64}};
}

template <typename T>
absl::Status Append(NpzWriter& npz, size_t array, std::span<const T> values) {
  return npz.Append(array, BytesOf(values.data(), values.size_bytes()));
}

absl::Status AppendTargets(const ModelConfig& model, std::span<const float> targets,
                           NpzWriter& npz) {
  if (!model.is_image()) return Append(npz, kTarget, targets);
  const std::vector<int64_t> labels(targets.begin(), targets.end());
  return Append(npz, kTarget, std::span(labels));
}

absl::Status Predict(CpuBackend& backend, const BatchRows& rows, std::vector<float>& predictions) {
  const size_t classes = backend.classes();
  predictions.resize(rows.rows * std::max<size_t>(1, classes));
  if (classes == 0) return backend.Predict(rows, predictions, rows.rows);
  PENSTOCK_RETURN_IF_ERROR(backend.Logits(rows, predictions));
  SoftmaxRows(classes, predictions);
  return absl::OkStatus();
}

// Only warns, because predictions do not depend on labels.
void TellOfOtherClasses(const JudgedRecords& judged) {
  const std::string difference = judged.name_difference();
  if (difference.empty()) return;
  PrintEscaped(stderr,
               "penstock-train: %s: `prediction` uses the checkpoint's class numbers, `target` the "
               "manifest's\n",
               difference);
}

}  // namespace

nlohmann::ordered_json ToJson(const PredictedRecords& predicted, const std::string& output) {
  nlohmann::ordered_json shapes = nlohmann::ordered_json::object();
  for (const NpzArray& array : predicted.arrays) {
    nlohmann::ordered_json& shape = shapes[array.name] = {predicted.records};
    for (const uint32_t axis : array.row_shape) shape.push_back(axis);
  }
  return {{"records", predicted.records}, {"output", output}, {"shapes", shapes}};
}

absl::StatusOr<PredictedRecords> PredictRecords(const std::string& checkpoint,
                                                const RecordsFlags& flags,
                                                const std::string& output) {
  PENSTOCK_ASSIGN_OR_RETURN(JudgedRecords judged, OpenJudgedRecords(checkpoint, flags));
  TellOfOtherClasses(judged);
  const ModelConfig& model = judged.info.model;
  PredictedRecords predicted = {.arrays = ArraysFor(model)};
  PENSTOCK_ASSIGN_OR_RETURN(NpzWriter npz, NpzWriter::Create(output, predicted.arrays));
  std::vector<float> predictions;
  for (InputBatch batch;;) {
    PENSTOCK_ASSIGN_OR_RETURN(const bool more, judged.input->Next(batch));
    if (!more) break;
    PENSTOCK_ASSIGN_OR_RETURN(const BatchRows rows, judged.reader->Read(batch));
    PENSTOCK_RETURN_IF_ERROR(Predict(*judged.backend, rows, predictions));
    PENSTOCK_RETURN_IF_ERROR(Append(npz, kRecordId, batch.record_ids));
    PENSTOCK_RETURN_IF_ERROR(Append(npz, kPrediction, std::span<const float>(predictions)));
    PENSTOCK_RETURN_IF_ERROR(AppendTargets(model, {rows.targets, rows.rows}, npz));
    predicted.records += rows.rows;
  }
  PENSTOCK_RETURN_IF_ERROR(npz.Finish());
  return predicted;
}

}  // namespace penstock
