// The commands of penstock-train besides training: their options, and one function each.
#ifndef PENSTOCK_TRAINER_APP_COMMANDS_H_
#define PENSTOCK_TRAINER_APP_COMMANDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/app/records_options.h"
#include "trainer/backend/device/product_rates.h"
#include "trainer/loop/evaluate.h"

namespace CLI {
class App;
}

namespace penstock {

struct DevicesOptions {};

// `options` must outlive `app`.
void AddDevicesOptions(CLI::App& app, DevicesOptions& options);

// The lines that RunDevices() prints: "[X] NCCL 2.28.3: /usr/lib/libnccl.so.2" for something that
// is present, "[ ] GPU: no NVIDIA driver" for something that is missing. Opens every GPU.
std::string DescribeDevices();

absl::Status RunDevices(const DevicesOptions& options);

// penstock-train export: writes a checkpoint's weights for other programs.
struct ExportOptions {
  std::string checkpoint;
  std::string output;
};

// `options` must outlive `app`.
void AddExportOptions(CLI::App& app, ExportOptions& options);

// Writes the safetensors file, and prints a line on stdout.
absl::Status RunExport(const ExportOptions& options);

// penstock-train predict: predicts positions, image files or the records of a manifest with a
// checkpoint's model.
struct PredictOptions {
  std::string checkpoint;
  std::vector<std::string> fens;
  std::vector<std::string> images;
  RecordsFlags records;
  std::string output = "predictions.npz";  // The file that predictions of records are written to.
  std::string json;                        // The file of the results as JSON; none if empty.
};

// `options` must outlive `app`.
void AddPredictOptions(CLI::App& app, PredictOptions& options);

// Returns the model's score of each position, in order, in (-1, 1). It predicts the score that it
// was trained on. kInvalidArgument: a FEN is invalid; the message has its number and the reason.
// Other errors are those of LoadCheckpoint().
absl::StatusOr<std::vector<float>> Predict(const std::string& checkpoint,
                                           const std::vector<std::string>& fens);

// kInvalidArgument: not exactly one of positions, files and records is given, or a flag is wrong.
absl::Status CheckPredict(const PredictOptions& options);

// Prints one line per position, or the likeliest classes of each image, or JSON; for records,
// writes the file. REQUIRES: CheckPredict().
absl::Status RunPredict(const PredictOptions& options);

// penstock-train evaluate: the loss of a checkpoint's model on a manifest's records.
struct EvaluateOptions {
  std::string checkpoint;
  RecordsFlags records;
  std::string confusion_matrix;  // The PNG file to write; none if empty.
  std::string json;
};

// `options` must outlive `app`.
void AddEvaluateOptions(CLI::App& app, EvaluateOptions& options);

// kInvalidArgument: the message names the flag.
absl::Status CheckEvaluate(const EvaluateOptions& options);

// Prints a line, or JSON. On the same machine and the same kind of device, the result equals the
// training's own evaluation bit for bit. Also writes the confusion matrix if asked to.
// kFailedPrecondition: an error of CheckHasConfusions(). Other errors are those of
// OpenJudgedRecords() and Evaluate(). REQUIRES: CheckEvaluate().
absl::Status RunEvaluate(const EvaluateOptions& options);

// The centipawns that have this score, by the formula of docs/reference/decode_operations.md with
// its defaults (A = 0.8, K = 400). The result is limited to +-1,600; scores beyond that mean mates.
double CentipawnsOf(float score);

// penstock-train products: measures only how fast a GPU computes a model's matrix products.
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

// Returns one line per product, and one for all of them.
std::string ProductsTable(const std::vector<ProductRate>& products);
// Returns the same numbers as JSON for programs.
std::string ProductsJson(const ProductsOptions& options, const DeviceInfo& device,
                         const std::vector<ProductRate>& products);

// Prints the table. kInvalidArgument: a wrong option. kFailedPrecondition: no GPU.
absl::Status RunProducts(const ProductsOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_COMMANDS_H_
