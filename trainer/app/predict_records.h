// Writes a model's predictions for the records of a manifest to a file for NumPy.
#ifndef PENSTOCK_TRAINER_APP_PREDICT_RECORDS_H_
#define PENSTOCK_TRAINER_APP_PREDICT_RECORDS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "trainer/app/records_options.h"

namespace penstock {

// Writes `output`, an .npz with one row per record in file order. Returns n, the number of rows:
//   record_id   i64 [n]           number in the manifest; minus 2^63 if the row replaces a record
//   prediction  f32 [n]           boards: the score
//               f32 [n, classes]  images: the probability of each class
//   target      f32 [n]           boards: the score trained on
//               i64 [n]           images: the label
// Errors are those of OpenJudgedRecords() and NpzWriter.
absl::StatusOr<uint64_t> PredictRecords(const std::string& checkpoint, const RecordsFlags& flags,
                                        const std::string& output);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_PREDICT_RECORDS_H_
