// The options of penstock-train.
#ifndef PENSTOCK_TRAINER_APP_OPTIONS_H_
#define PENSTOCK_TRAINER_APP_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/flags/source_flags.h"
#include "metrics/metrics_flags.h"
#include "trainer/app/device_options.h"
#include "trainer/app/image_options.h"
#include "trainer/app/profile_options.h"
#include "trainer/app/rank_options.h"
#include "trainer/backend/cpu/gemm.h"
#include "trainer/model/model_config.h"

namespace CLI {
class App;
}

namespace penstock {

// The values of --dtype. "auto" means packed for boards; images always travel as bytes.
inline const std::vector<std::string> kDtypes = {kAutoValue, "packed", "i8", "f32"};

// kInvalidArgument: `model` cannot be trained with this --dtype.
absl::Status CheckDtype(absl::string_view dtype, const ModelConfig& model);

struct TrainerOptions {
  std::string manifest;
  SourceFlags source;
  std::string eval_spec;  // If empty, EvalSpecOf() the spec of `source`.
  std::string dtype = kAutoValue;

  std::string model = "tiny";
  bool attention_bias = false;
  ImageFlags image;
  double dropout = -1;       // -1 means the model's own rate.
  double head_dropout = -1;  // -1 means the model's own rate.
  DeviceFlags device;
  std::string gemm = std::string(DefaultGemm());
  std::string precision = "fp32";
  uint64_t threads = 0;
  uint64_t virtual_shards = 8;

  uint64_t global_batch_size = 256;
  uint64_t accumulate = 1;
  uint64_t seed = 0;
  uint64_t epochs = 0;  // Passes over the data; 0 means one, or as many as `steps` needs.
  uint64_t steps = 0;
  double learning_rate = 1e-3;
  std::string lr_schedule = "constant";
  uint64_t warmup_steps = 0;
  double weight_decay = 0.01;
  double clip_norm = 0;
  uint64_t eval_every = 0;
  uint64_t early_stop = 0;
  std::string init_from;

  std::string checkpoint_dir;
  uint64_t checkpoint_every = 1000;
  uint64_t keep_checkpoints = 3;
  std::string resume = "auto";
  bool require_same_bits = false;
  uint64_t stopped_exit_code = 0;

  RankFlags ranks;
  RankInfo rank;  // Set by Complete().

  bool digest = false;
  std::string json;
  std::string events;
  std::string tensorboard;
  MetricsFlags metrics;
  ProfileOptions profile;
  bool print_config = false;
  std::string config;  // All options as --print-config prints them; ranks compare it.

  // kInvalidArgument: a wrong value or combination; the message names the option and what it
  // accepts.
  absl::Status Validate() const;

  // The model of --model and its options. With --classes auto, the number of classes is not yet
  // set. kInvalidArgument: an impossible model.
  absl::StatusOr<ModelConfig> Model() const;

  // The wire dtype of board records: "packed", "i8" or "f32".
  absl::string_view BoardDtype() const;

  // Most passes over the data; 0 means no limit.
  uint64_t EpochLimit() const { return epochs == 0 && steps == 0 ? 1 : epochs; }
};

// Validates the options, and determines this process's rank. kInvalidArgument: an error of
// Validate(), FindRank() or CheckShardsAndRanks(), or a diagnosis of too few steps.
absl::Status Complete(TrainerOptions& options);

// Declares every option, with its default, on `app`. `options` must outlive it.
void AddOptions(CLI::App& app, TrainerOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_OPTIONS_H_
