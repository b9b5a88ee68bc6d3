// The lines that a training prints on stdout before its first step and after its last.
#ifndef PENSTOCK_TRAINER_APP_RUN_LINES_H_
#define PENSTOCK_TRAINER_APP_RUN_LINES_H_

#include <string>
#include <vector>

#include "trainer/app/options.h"
#include "trainer/app/report.h"
#include "trainer/backend/backend.h"
#include "trainer/loop/train_loop.h"
#include "trainer/profile/memory_table.h"
#include "trainer/profile/verdict.h"

namespace penstock {

// A line to print at the start that names the features this build of penstock-train lacks; empty if
// it has all.
std::string BuildNotes();

struct StartOfRun {
  const Backend& backend;
  std::vector<MemoryUse> memory;                       // Host memory used by this rank.
  std::vector<std::vector<uint64_t>> memory_of_ranks;  // The result of GatherMemory().
  uint64_t train_records = 0;
  uint64_t holdout_records = 0;
  PixelStatistics pixels;  // The mean and the deviation by which images are normalised.
};

void PrintStart(const TrainerOptions& options, const StartOfRun& start);

struct EndOfRun {
  RowKind kind = RowKind::kPositions;
  ImageCounts images;      // InputReport::images.
  std::string saved;       // Path of the checkpoint with the final state; empty if there is none.
  std::string trace;       // Lines about the trace; empty if there is none.
  std::string comparison;  // Result of a diagnosis; empty if there was none.
  Verdict verdict;
};

// Prints the verdict last.
void PrintEnd(const TrainSummary& summary, const EndOfRun& end);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_RUN_LINES_H_
