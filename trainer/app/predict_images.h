// Predicts the likeliest classes of image files with a checkpoint's model.
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
  std::string name;  // The class number if the checkpoint has no names.
  double probability = 0;
};

struct ImagePrediction {
  std::string file;
  std::vector<LikelyClass> classes;  // At most five, the likeliest first.
};

// Returns the operations that turn files into the model's images. They are those of tensor `image`
// in the spec of the training's evaluations, after EvalSpecOf(), because a file has no number to
// seed random draws. If the spec has none, they resize the shorter side to side x 8/7 and take the
// central crop. Prints on stderr which operations still draw at random. kInvalidArgument: the
// checkpoint's spec is invalid, or gives other images than the model reads.
absl::StatusOr<ImageOps> OpsFor(const CheckpointInfo& info);

// Returns predictions in the order of `files`, which are JPEG or PNG. kFailedPrecondition: the
// checkpoint is of a model of boards. Other errors are those of LoadCheckpoint(), and, with the
// file's name, those of ImageTransform::Apply() and ReadTextFile().
absl::StatusOr<std::vector<ImagePrediction>> PredictImages(const std::string& checkpoint,
                                                           const std::vector<std::string>& files);

// [{"image": FILE, "classes": [{"class": 3, "name": "fox", "probability": 0.9}, ...]}, ...]
nlohmann::ordered_json ToJson(const std::vector<ImagePrediction>& images);
// The file's name, then one line per class: "  93.1 %  fox".
std::string ToText(const ImagePrediction& image);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_PREDICT_IMAGES_H_
