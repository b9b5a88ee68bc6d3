#include "trainer/app/judged_records.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/print_escaped.h"
#include "base/status.h"
#include "client/loader/dataset_spec.h"
#include "records/dataset/split.h"
#include "records/decode/spec.h"
#include "trainer/app/classes.h"
#include "trainer/app/eval_spec.h"
#include "trainer/app/input_options.h"
#include "trainer/app/label_facts.h"
#include "trainer/app/restore.h"
#include "trainer/app/spec_checks.h"
#include "trainer/app/training_inputs.h"
#include "trainer/input/board_reader.h"
#include "trainer/input/image_reader.h"
#include "trainer/input/loader_input.h"

namespace penstock {
namespace {

// Builds the options that a training of the checkpoint's model would have.
TrainerOptions AsTraining(const CheckpointInfo& info, const RecordsFlags& flags) {
  TrainerOptions options;
  options.manifest = flags.manifest;
  options.source = flags.source;
  options.dtype = flags.dtype;
  options.model = info.model.name;
  options.global_batch_size = std::max<uint64_t>(1, info.global_batch_size);
  return options;
}

// Returns the training's engine, or fp32's where this machine or build lacks it.
GemmEngine EngineOf(const CheckpointInfo& info) {
  const absl::string_view name = info.gemm_plan == "openblas" ? "openblas" : DefaultGemm();
  const absl::StatusOr<GemmEngine> trained = ParseGemmEngine(name, info.precision);
  return trained.ok() ? *trained : DefaultGemmEngine();
}

constexpr char kCheckpointSpec[] = "the checkpoint's spec";

// Chooses the spec for reading records, from `named` and the manifest's. With `as_trained`, `named`
// is the spec of the training's evaluations, which must not be changed.
absl::StatusOr<SpecChoice> JudgedSpec(bool as_trained, v1::DecodeSpec named,
                                      const Manifest& manifest) {
  PENSTOCK_ASSIGN_OR_RETURN(SpecChoice choice, ChooseSpec(std::move(named), manifest));
  as_trained ? void(choice.name = kCheckpointSpec)
             : void(choice.spec = EvalSpecOf(std::move(choice.spec)));
  const std::string random = RandomOperationsOf(choice.spec);
  if (!random.empty()) {
    PrintEscaped(
        stderr,
        "penstock-train: images are read with random operations: %s; give a --spec without "
        "them\n",
        random);
  }
  return choice;
}

absl::StatusOr<std::unique_ptr<BatchReader>> ReaderFor(const CheckpointInfo& info,
                                                       const Manifest& manifest,
                                                       absl::string_view title,
                                                       const v1::DecodeSpec& spec) {
  if (info.model.is_image()) {
    PENSTOCK_RETURN_IF_ERROR(CheckImageSpec(
        {spec, std::string(title), "--spec", "images-eval"},
        absl::StrCat("the checkpoint's model ", info.model.name), info.model, manifest.features()));
    return std::make_unique<ImageReader>(
        info.model.side,
        LabelFactsOf(info.model, ClassesFrom::kCheckpoint, manifest, spec, "images-eval"));
  }
  PENSTOCK_ASSIGN_OR_RETURN(const MateScoreParams params, ScoreParamsOf(title, spec));
  const std::string targets = DescribeTargets(params);
  if (info.targets.empty() || info.targets == targets) return std::make_unique<BoardReader>(params);
  return absl::FailedPreconditionError(absl::StrCat(title, " has other score targets (", targets,
                                                    ") than the training (", info.targets,
                                                    "); give the training's spec"));
}

}  // namespace

std::vector<std::string> JudgedRecords::class_names() const {
  return info.class_names.empty() ? ClassNamesOf(*manifest) : info.class_names;
}

std::string JudgedRecords::name_difference() const {
  return NameDifference(info.class_names, ClassNamesOf(*manifest));
}

absl::StatusOr<std::unique_ptr<CpuBackend>> RestoreBackend(Checkpoint& loaded, uint64_t threads) {
  const CheckpointInfo& info = loaded.info;
  const bool of_cpu = absl::StartsWith(info.numerics, "cpu ");
  const CpuBackendOptions cpu{.threads = threads,
                              .shards = std::max<uint64_t>(1, info.virtual_shards),
                              .block_rows = of_cpu ? info.block_rows : 0,
                              .gemm = EngineOf(info)};
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<CpuBackend> backend,
                            CpuBackend::Create(info.model, cpu));
  PENSTOCK_RETURN_IF_ERROR(backend->SetState(std::move(loaded.state)));
  return backend;
}

absl::StatusOr<JudgedRecords> OpenJudgedRecords(const std::string& checkpoint,
                                                const RecordsFlags& flags) {
  JudgedRecords judged;
  PENSTOCK_ASSIGN_OR_RETURN(Checkpoint loaded, LoadNamedCheckpoint(checkpoint));
  judged.info = loaded.info;
  const TrainerOptions options = AsTraining(judged.info, flags);
  PENSTOCK_RETURN_IF_ERROR(CheckDtype(options.dtype, judged.info.model));
  PENSTOCK_RETURN_IF_ERROR(CheckInput(options));
  const bool as_trained = flags.source.spec.empty() && !judged.info.eval_spec.empty();
  PENSTOCK_ASSIGN_OR_RETURN(v1::DecodeSpec named,
                            as_trained ? ParseSpec(judged.info.eval_spec, kCheckpointSpec)
                                       : LoadNamedSpec(flags.source.spec));
  PENSTOCK_ASSIGN_OR_RETURN(judged.manifest,
                            OpenManifest(options, named, [] { return absl::OkStatus(); }));
  PENSTOCK_ASSIGN_OR_RETURN(const SpecChoice choice,
                            JudgedSpec(as_trained, std::move(named), *judged.manifest));
  PENSTOCK_ASSIGN_OR_RETURN(judged.reader, ReaderFor(judged.info, *judged.manifest,
                                                     SpecTitle(options, choice.name), choice.spec));
  PENSTOCK_ASSIGN_OR_RETURN(judged.backend, RestoreBackend(loaded, flags.threads));
  LoaderOptions loader = ToLoaderOptions(options, judged.manifest, choice.spec);
  loader.spec_name = choice.name;
  PENSTOCK_ASSIGN_OR_RETURN(const Split split, ParseSplit(flags.split));
  ReadOnceInOrder(split, loader);
  PENSTOCK_ASSIGN_OR_RETURN(judged.input, LoaderInput::Open(std::move(loader)));
  return judged;
}

}  // namespace penstock
