// Why a label is no class, and what to do.
#ifndef PENSTOCK_TRAINER_INPUT_LABEL_ERROR_H_
#define PENSTOCK_TRAINER_INPUT_LABEL_ERROR_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace penstock {

// Who says how many classes there are.
enum class ClassesFrom { kOption, kManifest, kCheckpoint };

// What is known about classes and labels.
struct LabelFacts {
  size_t classes = 0;  // Of the model.
  ClassesFrom from = ClassesFrom::kOption;
  size_t named = 0;   // Classes that the manifest names; 0: it names none.
  int64_t added = 0;  // To the labels of records, by the decode spec.
  // The built-in spec that reads the model's images: "images-train:72".
  std::string spec = {};
  // "record 17 of images/a.tfrecord"; empty: the number over the manifest is all that is known.
  std::function<std::string(uint64_t record_id)> locate = {};
};

// "its label is 3 (4 in the record), and there are 3 classes (--classes), counted from 0: ADVICE".
// REQUIRES: `label` is no class.
std::string DescribeBadLabel(int64_t label, const LabelFacts& facts);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_INPUT_LABEL_ERROR_H_
