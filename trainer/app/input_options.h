// Loader options, built from the command line.
#ifndef PENSTOCK_TRAINER_APP_INPUT_OPTIONS_H_
#define PENSTOCK_TRAINER_APP_INPUT_OPTIONS_H_

#include <memory>

#include "base/process/machine_limits.h"
#include "client/loader/loader.h"
#include "records/dataset/manifest.h"
#include "trainer/app/options.h"
#include "trainer/profile/memory_table.h"

namespace penstock {

// Finds errors that Validate() cannot detect: server:PATH with servers that have no such manifest,
// or a file without a token.
absl::Status CheckInput(const TrainerOptions& options);

// The options that training and evaluation share: all but the split, shuffling and length.
// REQUIRES: options.Validate(). `options` must outlive the loader.
LoaderOptions ToLoaderOptions(const TrainerOptions& options,
                              std::shared_ptr<const Manifest> manifest, const v1::DecodeSpec& spec);

// Makes the loader read every record of `split` once, in file order.
void ReadOnceInOrder(Split split, LoaderOptions& loader);

// Halves the memory of "local:". While the ranks evaluate, each has a second engine, so the engines
// of a host together take half as much again.
void HalveForEvaluation(LoaderOptions& loader);

// Upper bounds of the host memory that the loader's slots and "local:" take.
MemoryUse SlotUse(const LoaderStats& stats);
MemoryUse EngineUse(const TrainerOptions& options, const Manifest& manifest);
// Warns on stderr if --steps-per-launch has no effect because there are too few slots.
void WarnOfFewSlots(const TrainerOptions& options, const LoaderStats& stats);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_INPUT_OPTIONS_H_
