// Which classes a checkpoint's model finds the likeliest for image files.
#ifndef PENSTOCK_TRAINER_APP_PREDICT_IMAGES_H_
#define PENSTOCK_TRAINER_APP_PREDICT_IMAGES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "records/image/image_ops.h"
#include "trainer/checkpoint/checkpoint.h"

namespace penstock {

struct LikelyClass {
  size_t number = 0;
  std::string name;  // The number where the checkpoint has no names.
  double probability = 0;
};

struct ImagePrediction {
  std::string file;
  std::vector<LikelyClass> classes;  // The likeliest first, at most five.
};

// How files become the model's images: by the operation `image` of the spec that evaluations were
// read with, or its EvalSpecOf(): a file has no number that draws could be made from. Where that
// has none, the shorter side is resized to side x 8/7 and the central crop taken. Says on stderr
// what is drawn at random all the same. kInvalidArgument: the checkpoint's spec is none, or gives
// other images than the model's.
absl::StatusOr<ImageOps> OpsFor(const CheckpointInfo& info);

// In the order of `files`, which are JPEG or PNG. kFailedPrecondition: a checkpoint of boards.
// Other errors name the file: as ImageTransform::Apply() and ReadTextFile(); as
// LoadCheckpoint().
absl::StatusOr<std::vector<ImagePrediction>> PredictImages(const std::string& checkpoint,
                                                           const std::vector<std::string>& files);

// [{"image": FILE, "classes": [{"class": 3, "name": "fox", "probability": 0.9}, ...]}, ...]
nlohmann::ordered_json ToJson(const std::vector<ImagePrediction>& images);
// The file, and a line a class: "  93.1 %  fox".
std::string ToText(const ImagePrediction& image);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_PREDICT_IMAGES_H_
