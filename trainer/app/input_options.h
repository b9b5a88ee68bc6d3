// The loader's options, as the command line has them.
#ifndef PENSTOCK_TRAINER_APP_INPUT_OPTIONS_H_
#define PENSTOCK_TRAINER_APP_INPUT_OPTIONS_H_

#include <memory>

#include "base/process/machine_limits.h"
#include "client/loader/loader.h"
#include "records/dataset/manifest.h"
#include "trainer/app/options.h"
#include "trainer/profile/memory_table.h"

namespace penstock {

// What Validate() cannot see: server:PATH of servers that have none, a file without a token.
absl::Status CheckInput(const TrainerOptions& options);

// Those that training and evaluation share: all but split, shuffling and length.
// REQUIRES: options.Validate(); `options` must outlive the loader.
LoaderOptions ToLoaderOptions(const TrainerOptions& options,
                              std::shared_ptr<const Manifest> manifest, const v1::DecodeSpec& spec);

// Makes the loader read every record of `split` once, in file order.
void ReadOnceInOrder(Split split, LoaderOptions& loader);

// What each rank's own engine of "local:" may take, where a host's ranks share cores and memory:
// all its engines together have the cores, and a quarter of the memory for training; half of that
// more while they evaluate, each with an engine of its own.
void ShareHost(const RankInfo& rank, const MachineLimits& machine, LoaderOptions& loader);
void HalveForEvaluation(LoaderOptions& loader);

// What the loader's slots take of the host's memory, and what "local:" does, at most.
MemoryUse SlotUse(const LoaderStats& stats);
MemoryUse EngineUse(const TrainerOptions& options, const Manifest& manifest);
// On stderr, where --steps-per-launch has no effect for want of them.
void WarnOfFewSlots(const TrainerOptions& options, const LoaderStats& stats);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_INPUT_OPTIONS_H_
