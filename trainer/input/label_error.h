// Explains why a label is not a class, and what to do.
#ifndef PENSTOCK_TRAINER_INPUT_LABEL_ERROR_H_
#define PENSTOCK_TRAINER_INPUT_LABEL_ERROR_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace penstock {

// The source of the number of classes.
enum class ClassesFrom { kOption, kManifest, kCheckpoint };

// Facts about classes and labels.
struct LabelFacts {
  size_t classes = 0;  // Number of classes of the model.
  ClassesFrom from = ClassesFrom::kOption;
  size_t named = 0;   // Number of classes that the manifest names; 0 if it names none.
  int64_t added = 0;  // Number that the decode spec adds to the labels of records.
  // The built-in spec that reads the model's images: "images-train:72".
  std::string spec = {};
  // Names a record: "record 17 of images/a.tfrecord". If it is empty, messages use the record's
  // number in the manifest.
  std::function<std::string(uint64_t record_id)> locate = {};
};

// Returns "its label is 3 (4 in the record), but 3 classes (from --classes) have labels 0 to 2:
// ADVICE". REQUIRES: `label` is not a class.
std::string DescribeBadLabel(int64_t label, const LabelFacts& facts);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_INPUT_LABEL_ERROR_H_
