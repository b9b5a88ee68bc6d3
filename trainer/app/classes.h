// How many classes there are, and what they are called.
#ifndef PENSTOCK_TRAINER_APP_CLASSES_H_
#define PENSTOCK_TRAINER_APP_CLASSES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "records/dataset/manifest.h"
#include "trainer/checkpoint/checkpoint.h"

namespace penstock {

// The names that the manifest has for the numbers of classes; empty: none.
std::vector<std::string> ClassNamesOf(const Manifest& manifest);

// The class's name, or its number if there is no name for it.
std::string ClassName(const std::vector<std::string>& names, size_t number);

// Resolves --classes auto: as many classes as the resumed checkpoint has (0: there is none), else
// as many as the manifest names. kInvalidArgument: it names none.
absl::StatusOr<size_t> AutoClasses(size_t of_checkpoint, size_t named);

// "class 1 is "dog" in the checkpoint and "cow" in the manifest": the first difference of the names
// that both have; empty: none.
std::string NameDifference(const std::vector<std::string>& of_checkpoint,
                           const std::vector<std::string>& of_manifest);

// Puts the manifest's `names` into `info` where there is one for each class of the model, and says
// on stderr where they are not those that it had. Else `info` keeps its own, if they are as many.
void UpdateClassNames(const std::vector<std::string>& names, CheckpointInfo& info);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_CLASSES_H_
