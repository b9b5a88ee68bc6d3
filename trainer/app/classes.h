// The number of classes and their names.
#ifndef PENSTOCK_TRAINER_APP_CLASSES_H_
#define PENSTOCK_TRAINER_APP_CLASSES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "records/dataset/manifest.h"
#include "trainer/checkpoint/checkpoint.h"

namespace penstock {

// The manifest's class names, indexed by class number; empty if it has none.
std::vector<std::string> ClassNamesOf(const Manifest& manifest);

// The class's name, or its number if it has no name.
std::string ClassName(const std::vector<std::string>& names, size_t number);

// Resolves --classes auto. Returns `of_checkpoint`, the number of classes of the resumed
// checkpoint. If that is 0, there is no checkpoint; then returns `named`, the number of classes
// that the manifest names. kInvalidArgument: the manifest names none.
absl::StatusOr<size_t> AutoClasses(size_t of_checkpoint, size_t named);

// Describes the first class that has a name in both lists, but not the same one: "class 1 is "dog"
// in the checkpoint but "cow" in the manifest". Empty if there is none.
std::string NameDifference(const std::vector<std::string>& of_checkpoint,
                           const std::vector<std::string>& of_manifest);

// Puts the manifest's `names` into `info` if there is one for each class of the model. Prints on
// stderr the first difference from the previous names. Otherwise `info` keeps its own names if
// there is one for each class, and loses them if not.
void UpdateClassNames(const std::vector<std::string>& names, CheckpointInfo& info);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_CLASSES_H_
