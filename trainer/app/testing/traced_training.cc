#include "trainer/app/testing/traced_training.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "gtest/gtest.h"
#include "trainer/app/training_watch.h"
#include "trainer/input/board_reader.h"
#include "trainer/input/testing/memory_input.h"
#include "trainer/model/initialize.h"

namespace penstock {
namespace {

const ModelConfig kSmall{"small", 1, 16, 1, 24};
constexpr size_t kRows = 1;

std::string NewFolder() {
  static std::atomic<int> number = 0;
  std::string folder =
      absl::StrCat(testing::TempDir(), "/traced_training.", getpid(), ".", ++number);
  std::filesystem::create_directories(folder);
  return folder;
}

}  // namespace

std::vector<std::string> ReadTrace::TrackNames() const {
  std::vector<std::string> names;
  for (const auto& [name, spans] : tracks) names.push_back(name);
  return names;
}

std::vector<uint64_t> ReadTrace::StepsOf(const std::string& track) const {
  std::vector<uint64_t> steps;
  for (const nlohmann::json& span : tracks.at(track)) {
    const uint64_t step = span.at("args").at("step");
    if (steps.empty() || steps.back() != step) steps.push_back(step);
  }
  return steps;
}

TracedTraining::TracedTraining()
    : folder_(NewFolder()), file_(absl::StrCat(folder_, "/trace.json")) {}

TracedTraining::~TracedTraining() { std::filesystem::remove_all(folder_); }

absl::Status TracedTraining::Run(std::unique_ptr<Device> device, DeviceBackendOptions options,
                                 uint64_t steps, const std::string& traced) {
  options.shards = 1;
  options.global_rows = kRows;
  PENSTOCK_ASSIGN_OR_RETURN(auto backend,
                            DeviceBackend::Create(kSmall, options, std::move(device)));
  TrainState state(backend->table().arena_size());
  InitializeParameters(backend->table(), /*seed=*/1, state.parameters);
  PENSTOCK_RETURN_IF_ERROR(backend->SetState(std::move(state)));
  const ProfileOptions profile{.steps = traced, .file = file_};
  TrainingWatch watch(profile, backend->Describe().threads);
  watch.Watch(*backend);
  MemoryInput input(/*records=*/2 * steps * kRows, /*batch_size=*/kRows);
  BoardReader reader;
  TrainLoopOptions loop;
  loop.total_steps = steps;
  loop.recorder = &watch.recorder();
  PENSTOCK_ASSIGN_OR_RETURN(summary_,
                            TrainLoop(*backend, reader, input, {.model = kSmall}, loop).Run());
  backend_ = backend->Describe();
  PENSTOCK_RETURN_IF_ERROR(watch.WriteTrace());
  std::fputs(watch.trace_lines().c_str(), stdout);
  device_times_ = watch.device_times();
  PENSTOCK_ASSIGN_OR_RETURN(const TrainState* trained, backend->State());
  parameters_ = trained->parameters;
  return absl::OkStatus();
}

ReadTrace TracedTraining::Read() const {
  std::ifstream file(file_);
  const auto json = nlohmann::json::parse(file);
  std::map<int, std::string> names;
  ReadTrace trace;
  for (const nlohmann::json& event : json.at("traceEvents")) {
    if (event["name"] == "thread_name") names[event["tid"]] = event["args"]["name"];
    if (event["ph"] == "X") trace.tracks[names.at(event["tid"])].push_back(event);
    if (event["ph"] == "s") trace.arrow_starts.push_back(event);
    if (event["ph"] == "f") trace.arrow_ends.push_back(event);
  }
  return trace;
}

}  // namespace penstock
