// Predictions of a checkpoint's model for the records of a manifest, as a file for NumPy.
#ifndef PENSTOCK_TRAINER_APP_PREDICT_RECORDS_H_
#define PENSTOCK_TRAINER_APP_PREDICT_RECORDS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "trainer/app/records_options.h"

namespace penstock {

// Writes `output`, an .npz of n records in file order; returns n:
//   record_id   i64 [n]           number over the manifest; less 2^63 where the record replaces
//   another prediction  f32 [n]           of boards: the score
//               f32 [n, classes]  of images: the probability of each class
//   target      f32 [n]           of boards: the score trained on
//               i64 [n]           of images: the label
// Errors as OpenJudgedRecords() and NpzWriter's.
absl::StatusOr<uint64_t> PredictRecords(const std::string& checkpoint, const RecordsFlags& flags,
                                        const std::string& output);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_PREDICT_RECORDS_H_
