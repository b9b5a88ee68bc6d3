#include "trainer/app/run_lines.h"

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "base/print_escaped.h"
#include "base/text.h"
#include "trainer/backend/cpu/gemm_onednn.h"

namespace penstock {

std::string BuildNotes() {
  return HasOneDnn()
             ? ""
             : "this build has no oneDNN: it multiplies matrices with OpenBLAS, in fp32 only\n";
}

namespace {

void PrintRanks(const TrainerOptions& options, const StartOfRun& start) {
  const std::string& compression = options.ranks.compression;
  PrintEscaped(
      stdout, "%d ranks (%s), %s each, reduction %s%s\n", options.rank.world_size,
      options.rank.source,
      Counted(start.backend.shards() / options.rank.world_size, "virtual shard", "virtual shards"),
      options.ranks.reduction, compression == "none" ? "" : " " + compression);
  if (options.ranks.by_local_rank()) {
    PrintEscaped(
        stdout, "each host trains on its own data; the records above are those of rank 0's host\n");
  }
  const std::string warning =
      options.ranks.WarmUpWarning(options.rank.world_size, options.warmup_steps);
  if (!warning.empty()) PrintEscaped(stderr, "penstock-train: %s\n", warning);
  if (options.ranks.lr_scaling == "none") return;
  PrintEscaped(stdout, "learning rate %g, by --lr-scaling %s\n", options.learning_rate,
               options.ranks.lr_scaling);
}

}  // namespace

void PrintStart(const TrainerOptions& options, const StartOfRun& start) {
  PrintEscaped(stdout, "%s", Multiline(BuildNotes()));
  PrintEscaped(stdout, "model %s%s: %s parameters; %s; %s records to train on, %s held out\n",
               options.model, options.attention_bias ? " with attention bias" : "",
               Grouped(start.backend.table().parameter_count()), start.backend.Describe().place,
               Grouped(start.train_records), Grouped(start.holdout_records));
  if (options.image.auto_pixels()) {
    PrintEscaped(stdout, "pixels are normalised by --image-mean %s --image-std %s\n",
                 ChannelsText(start.pixels.mean), ChannelsText(start.pixels.deviation));
  }
  const uint64_t left_out = start.train_records % options.global_batch_size;
  const bool drops = options.source.remainder == "drop" && !options.ranks.by_local_rank();
  if (left_out > 0 && drops) {
    PrintEscaped(
        stdout, "%s of each epoch left out, because they do not fill a batch of %d (--remainder)\n",
        Counted(left_out, "record", "records"), options.global_batch_size);
  }
  if (options.rank.world_size > 1) PrintRanks(options, start);
  PrintEscaped(
      stdout, "%s",
      Multiline(options.rank.world_size > 1 ? RanksMemoryTable(start.memory, start.memory_of_ranks)
                                            : MemoryTable("memory of rank 0", start.memory)));
  if (start.holdout_records == 0) {
    PrintEscaped(stdout,
                 "no evaluation, because no records are held out (penstock index --holdout 5%%)\n");
  }
  std::fflush(stdout);
  if (options.checkpoint_dir.empty() && !options.profile.diagnoses()) {
    PrintEscaped(
        stderr,
        "penstock-train: no checkpoints are saved, because --checkpoint-dir is not given\n");
  }
}

void PrintEnd(const TrainSummary& summary, const EndOfRun& end) {
  const absl::string_view rows = RowsName(end.kind);
  PrintEscaped(stdout,
               "%s after step %d: %s %s in %.1f s, %s %s/s, waiting for input "
               "%.2f %% of the time\n",
               summary.stopped ? "stopped" : "done", summary.step, Grouped(summary.rows), rows,
               summary.seconds(), Grouped(static_cast<uint64_t>(summary.rows_per_second())), rows,
               100 * summary.wait_share());
  if (summary.early_stopped) {
    PrintEscaped(stdout,
                 "stopped early: %s in a row were no better than that of step %d, loss %.4f\n",
                 Counted(summary.best->evaluations_since, "evaluation", "evaluations"),
                 summary.best->step, summary.best->loss);
  }
  if (const std::string noted = Describe(end.images); !noted.empty()) {
    PrintEscaped(stdout, "images: %s\n", noted);
  }
  if (summary.rows > 0)
    PrintEscaped(stdout, "loss %.4f -> %.4f\n", summary.loss_start, summary.loss_end);
  PrintEscaped(stdout, "%s\n",
               end.saved.empty() ? "not saved" : absl::StrCat("saved as ", end.saved));
  PrintEscaped(stdout, "cursor %s\n", summary.cursor);
  if (!summary.digest.empty()) PrintEscaped(stdout, "sha256 %s\n", summary.digest);
  PrintEscaped(stdout, "%s", Multiline(end.trace));
  if (!end.comparison.empty()) PrintEscaped(stdout, "diagnosis: %s\n", end.comparison);
  PrintEscaped(stdout, "verdict: %s\n", end.verdict.text);
}

}  // namespace penstock
