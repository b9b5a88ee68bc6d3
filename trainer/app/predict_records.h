// Writes a model's predictions for the records of a manifest to a file for NumPy.
#ifndef PENSTOCK_TRAINER_APP_PREDICT_RECORDS_H_
#define PENSTOCK_TRAINER_APP_PREDICT_RECORDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "records/decode/npz.h"
#include "trainer/app/records_options.h"

namespace penstock {

struct PredictedRecords {
  uint64_t records = 0;
  std::vector<NpzArray> arrays;  // The arrays of the file; their shapes are those of one record.
};

// {"records": 500, "output": "p.npz", "shapes": {"record_id": [500], "prediction": [500, 10], ...}}
nlohmann::ordered_json ToJson(const PredictedRecords& predicted, const std::string& output);

// Writes `output`, an .npz with one row per record in file order. n is the number of rows:
//   record_id   i64 [n]           number in the manifest; minus 2^63 if the row replaces a record
//   prediction  f32 [n]           boards: the score
//               f32 [n, classes]  images: the probability of each class
//   target      f32 [n]           boards: the score trained on
//               i64 [n]           images: the label
// Errors are those of OpenJudgedRecords() and NpzWriter.
absl::StatusOr<PredictedRecords> PredictRecords(const std::string& checkpoint,
                                                const RecordsFlags& flags,
                                                const std::string& output);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_PREDICT_RECORDS_H_
