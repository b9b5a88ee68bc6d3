// The commands of penstock-train besides training: their options, and one function each.
#ifndef PENSTOCK_TRAINER_APP_COMMANDS_H_
#define PENSTOCK_TRAINER_APP_COMMANDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/app/records_options.h"
#include "trainer/backend/device/product_rates.h"
#include "trainer/loop/evaluate.h"

namespace penstock {

struct DevicesOptions {};

// `options` must outlive `app`.
void AddDevicesOptions(CLI::App& app, DevicesOptions& options);

// The lines that RunDevices() prints: "[X] NCCL 2.28.3: /usr/lib/libnccl.so.2" for what is there,
// "[ ] GPU: no NVIDIA driver" for what is not. Opens every GPU.
std::string DescribeDevices();

absl::Status RunDevices(const DevicesOptions& options);

// penstock-train export: the weights of a checkpoint for other programs.
struct ExportOptions {
  std::string checkpoint;
  std::string output;
};

// `options` must outlive `app`.
void AddExportOptions(CLI::App& app, ExportOptions& options);

// Writes the safetensors file and a line on stdout.
absl::Status RunExport(const ExportOptions& options);

// penstock-train predict: what a checkpoint's model says of positions, of image files or of the
// records of a manifest.
struct PredictOptions {
  std::string checkpoint;
  std::vector<std::string> fens;
  std::vector<std::string> images;
  RecordsFlags records;
  std::string output = "predictions.npz";  // Of records.
  std::string json;                        // Not of records.
};

// `options` must outlive `app`.
void AddPredictOptions(CLI::App& app, PredictOptions& options);

// The model's score of each position, in order: as trained on, in (-1, 1).
// kInvalidArgument: a FEN that is none, by its number and with the reason; an error of
// LoadCheckpoint().
absl::StatusOr<std::vector<float>> Predict(const std::string& checkpoint,
                                           const std::vector<std::string>& fens);

// kInvalidArgument: not exactly one of positions, files and records is asked for, or a flag.
absl::Status CheckPredict(const PredictOptions& options);

// Prints a line a position, the likeliest classes of each image, or JSON; or writes the file of
// records. REQUIRES: CheckPredict().
absl::Status RunPredict(const PredictOptions& options);

// penstock-train evaluate: the loss of a checkpoint's model on the records of a manifest.
struct EvaluateOptions {
  std::string checkpoint;
  RecordsFlags records;
  std::string confusion_matrix;  // A picture; empty: none.
  std::string json;
};

// `options` must outlive `app`.
void AddEvaluateOptions(CLI::App& app, EvaluateOptions& options);

// kInvalidArgument names the flag.
absl::Status CheckEvaluate(const EvaluateOptions& options);

// Prints a line, or JSON: on the machine and with the kind of device of the training, its own
// evaluation to the last bit. Also writes the confusion matrix if it is asked for.
// kFailedPrecondition: CheckHasConfusions(). Further errors as OpenJudgedRecords() and Evaluate().
// REQUIRES: CheckEvaluate().
absl::Status RunEvaluate(const EvaluateOptions& options);

// The centipawns that have this score by the formula of docs/reference/decode_operations.md with
// its default numbers (A = 0.8, K = 400); beyond +-1,600 they are +-1,600: there scores mean mates.
double CentipawnsOf(float score);

// penstock-train products: how fast a GPU multiplies a model's matrices, and nothing else.
struct ProductsOptions {
  std::string model = "large";
  std::string device = "cuda";
  std::string precision = "bf16";
  uint64_t samples = 512;
  uint64_t repeats = 20;
  std::string json;
};

// `options` must outlive `app`.
void AddProductsOptions(CLI::App& app, ProductsOptions& options);

// A line a product, and one for all.
std::string ProductsTable(const std::vector<ProductRate>& products);
// The same for programs.
std::string ProductsJson(const ProductsOptions& options, const DeviceInfo& device,
                         const std::vector<ProductRate>& products);

// Prints the table. kInvalidArgument: an option; kFailedPrecondition: no GPU.
absl::Status RunProducts(const ProductsOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_COMMANDS_H_
