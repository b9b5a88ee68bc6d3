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

// The names that the manifest has for class numbers; empty if it has none.
std::vector<std::string> ClassNamesOf(const Manifest& manifest);

// The class's name, or its number if it has no name.
std::string ClassName(const std::vector<std::string>& names, size_t number);

// Resolves --classes auto: the number of classes of the resumed checkpoint (0: no checkpoint), else
// the number that the manifest names. kInvalidArgument: the manifest names none.
absl::StatusOr<size_t> AutoClasses(size_t of_checkpoint, size_t named);

// The first difference of the names that both have: "class 1 is "dog" in the checkpoint and "cow"
// in the manifest". Empty if there is none.
std::string NameDifference(const std::vector<std::string>& of_checkpoint,
                           const std::vector<std::string>& of_manifest);

// Puts the manifest's `names` into `info` if there is one for each class of the model, and prints
// on stderr where they differ from the previous names. Otherwise `info` keeps its own names if
// their number is right, and else has none.
void UpdateClassNames(const std::vector<std::string>& names, CheckpointInfo& info);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_CLASSES_H_
