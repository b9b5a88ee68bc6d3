#include "trainer/app/commands.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "base/flags/json_flag.h"
#include "base/flags/path_flags.h"
#include "base/json_text.h"
#include "base/print_escaped.h"
#include "base/status.h"
#include "base/text.h"
#include "nlohmann/json.hpp"
#include "records/chess/fen.h"
#include "records/chess/planes.h"
#include "trainer/app/predict_images.h"
#include "trainer/app/predict_records.h"
#include "trainer/app/restore.h"
#include "trainer/backend/cpu/cpu_backend.h"
#include "trainer/checkpoint/checkpoint.h"

namespace penstock {
namespace {

absl::StatusOr<std::vector<uint8_t>> EncodeAll(const std::vector<std::string>& fens) {
  std::vector<uint8_t> records;
  for (size_t i = 0; i < fens.size(); ++i) {
    const absl::StatusOr<chess::Position> position = chess::ParseFen(fens[i]);
    if (!position.ok()) {
      return Annotate(position.status(), absl::StrCat("--fen ", i + 1, ", \"", fens[i], "\""));
    }
    const chess::PlaneBytes planes = chess::EncodePlanes(*position, /*mate=*/false);
    records.insert(records.end(), planes.begin(), planes.end());
  }
  return records;
}

nlohmann::ordered_json ToJson(const std::vector<std::string>& fens,
                              const std::vector<float>& scores) {
  nlohmann::ordered_json positions = nlohmann::ordered_json::array();
  for (size_t i = 0; i < fens.size(); ++i) {
    positions.push_back(
        {{"fen", fens[i]}, {"score", scores[i]}, {"centipawns", CentipawnsOf(scores[i])}});
  }
  return positions;
}

absl::Status PredictPositions(const PredictOptions& options) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<float> scores,
                            Predict(options.checkpoint, options.fens));
  if (!options.json.empty()) {
    PENSTOCK_RETURN_IF_ERROR(WriteJson(options.json, JsonText(ToJson(options.fens, scores), 2)));
  }
  if (options.json == kStandardOutput) return absl::OkStatus();
  for (size_t i = 0; i < scores.size(); ++i) {
    PrintEscaped(stdout, "score %+.4f, %+.0f centipawns: %s\n", scores[i], CentipawnsOf(scores[i]),
                 options.fens[i]);
  }
  return absl::OkStatus();
}

absl::Status PredictDataset(const PredictOptions& options) {
  PENSTOCK_ASSIGN_OR_RETURN(const PredictedRecords predicted,
                            PredictRecords(options.checkpoint, options.records, options.output));
  if (!options.json.empty()) {
    PENSTOCK_RETURN_IF_ERROR(
        WriteJson(options.json, JsonText(ToJson(predicted, options.output), 2)));
  }
  if (options.json == kStandardOutput) return absl::OkStatus();
  PrintEscaped(stdout, "%s: predictions of %s\n", options.output,
               Counted(predicted.records, "record", "records"));
  return absl::OkStatus();
}

absl::Status PredictFiles(const PredictOptions& options) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<ImagePrediction> images,
                            PredictImages(options.checkpoint, options.images));
  if (!options.json.empty()) {
    PENSTOCK_RETURN_IF_ERROR(WriteJson(options.json, JsonText(ToJson(images), 2)));
  }
  if (options.json == kStandardOutput) return absl::OkStatus();
  for (const ImagePrediction& image : images) {
    PrintEscaped(stdout, "%s", Multiline(ToText(image)));
  }
  return absl::OkStatus();
}

}  // namespace

double CentipawnsOf(float score) {
  constexpr double kLimit = 0.8, kScale = 400, kMost = 1600;
  const double part = std::clamp(score / kLimit, -0.9999, 0.9999);
  return std::clamp(kScale * std::atanh(part), -kMost, kMost);
}

void AddPredictOptions(CLI::App& app, PredictOptions& options) {
  app.add_option("--checkpoint", options.checkpoint, "Checkpoint to read")
      ->type_name("FILE")
      ->required();
  app.add_option("--fen", options.fens, "Position to predict; repeat it for more")
      ->type_name("FEN")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--image", options.images, "JPEG and PNG files whose likeliest classes to print")
      ->type_name("FILE")
      ->expected(1, CLI::detail::expected_max_vector_size);
  app.option_defaults()->always_capture_default();
  AddRecordsFlags(app, options.records);
  app.add_option("-o,--output", options.output,
                 "The .npz file to write: record_id, prediction and target of each record")
      ->type_name("FILE")
      ->group("Output");
  AddJsonFlag(app, options.json, "Write the results, or a summary of the file of --output,");
  app.footer(
      "Example:\n"
      "  penstock-train predict --checkpoint checkpoints/best.ckpt \\\n"
      "      --fen \"rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1\"\n"
      "  penstock-train predict --checkpoint images/best.ckpt \\\n"
      "      --image cat.jpg dog.png\n"
      "  penstock-train predict --checkpoint images/best.ckpt data \\\n"
      "      --split holdout -o predictions.npz");
}

absl::StatusOr<std::vector<float>> Predict(const std::string& checkpoint,
                                           const std::vector<std::string>& fens) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<uint8_t> records, EncodeAll(fens));
  PENSTOCK_ASSIGN_OR_RETURN(Checkpoint loaded, LoadNamedCheckpoint(checkpoint));
  if (loaded.info.model.is_image()) {
    return absl::FailedPreconditionError(absl::StrCat(
        checkpoint, " has model ", loaded.info.model.name,
        ", which classifies images and cannot read --fen: give --image, or a checkpoint of a board "
        "model (tiny, default, large)"));
  }
  PENSTOCK_ASSIGN_OR_RETURN(const std::unique_ptr<CpuBackend> backend,
                            CpuBackend::Create(loaded.info.model, {.threads = 1, .shards = 1}));
  backend->state() = std::move(loaded.state);
  std::vector<float> scores(fens.size());
  PENSTOCK_RETURN_IF_ERROR(
      backend->Predict({.format = kPackedBoards, .rows = fens.size(), .input = records.data()},
                       scores, fens.size()));
  return scores;
}

absl::Status CheckPredict(const PredictOptions& options) {
  const bool records = !options.records.manifest.empty();
  if (!options.fens.empty() + !options.images.empty() + records == 1) {
    return records ? CheckRecordsFlags(options.records) : absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "give exactly one of --fen, --image and DATASET (DATASET alone or behind --manifest)");
}

absl::Status RunPredict(const PredictOptions& options) {
  PENSTOCK_RETURN_IF_ERROR(CheckJsonFlag(options.json));
  if (!options.fens.empty()) return PredictPositions(options);
  if (!options.images.empty()) return PredictFiles(options);
  if (!options.output.empty()) PENSTOCK_RETURN_IF_ERROR(CheckWritable("-o", options.output));
  return PredictDataset(options);
}

}  // namespace penstock
