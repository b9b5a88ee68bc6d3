#include "trainer/app/report.h"

#include "absl/strings/str_cat.h"
#include "base/json_text.h"
#include "base/status.h"
#include "nlohmann/json.hpp"

namespace penstock {
namespace {

using Json = nlohmann::ordered_json;

Json ServersJson(const std::vector<InputServer>& servers) {
  Json list = Json::array();
  for (const InputServer& server : servers) {
    list.push_back({{"address", server.address},
                    {"parts", server.parts},
                    {"requests_in_flight", server.requests_in_flight},
                    {"lost_requests", server.lost_requests}});
  }
  return list;
}

double Seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

Json TimesJson(const PhaseTimes& times) {
  Json json = Json::object();
  for (size_t i = 0; i < kPhases; ++i) {
    json[PhaseName(static_cast<Phase>(i))] = Seconds(times.times[i]);
  }
  return json;
}

double Microseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

// Without `every_kernel`, what happens inside a graph is unknown and left out.
Json DeviceStepJson(const DeviceStep& step, bool every_kernel) {
  Json json{{"step", step.step},
            {"steps", step.steps},
            {"busy_us", Microseconds(step.busy)},
            {"communicating_alone_us", Microseconds(step.alone)},
            {"idle_before_us", Microseconds(step.before)},
            {"idle_between_launches_us", Microseconds(step.between)}};
  if (!every_kernel) return json;
  json["idle_inside_us"] = Microseconds(step.inside);
  json["works"] = step.works;
  return json;
}

Json DeviceJson(const DeviceTimes& times) {
  Json json{{"source", times.source}, {"sum", DeviceStepJson(times.sum, times.every_kernel)}};
  json["steps"] = Json::array();
  for (const DeviceStep& step : times.steps) {
    json["steps"].push_back(DeviceStepJson(step, times.every_kernel));
  }
  return json;
}

void AddEvaluation(const Evaluation& evaluation, Json& json) {
  json["holdout_records"] = evaluation.records;
  json["holdout_loss"] = evaluation.loss;
  if (evaluation.hits.has_value()) {
    json["holdout_accuracy"] = evaluation.accuracy();
    if (evaluation.top5_hits.has_value()) json["holdout_top5"] = evaluation.top5();
    return;
  }
  json["holdout_baseline"] = evaluation.train_mean_loss;
  json["holdout_own_mean_baseline"] = evaluation.own_mean_loss;
  json["holdout_below_mean_percent"] = evaluation.below_mean_percent();
}

Json FieldsOf(const Evaluation& evaluation) {
  Json json{{"records", evaluation.records}, {"loss", evaluation.loss}};
  if (evaluation.hits.has_value()) {
    json["accuracy"] = evaluation.accuracy();
    if (evaluation.top5_hits.has_value()) json["top5"] = evaluation.top5();
  } else {
    json["baseline"] = evaluation.train_mean_loss;
    json["own_mean_baseline"] = evaluation.own_mean_loss;
  }
  return json;
}

}  // namespace

absl::string_view RowsName(RowKind kind) {
  return kind == RowKind::kImages ? "images" : "positions";
}

std::string StepEvent(const StepReport& report, const std::vector<InputServer>& servers) {
  return JsonText(Json{{"event", "step"},
                       {"step", report.step},
                       {"steps", report.total_steps},
                       {"rows", report.rows},
                       {"loss", report.loss},
                       {"learning_rate", report.learning_rate},
                       {"gradient_norm", report.gradient_norm},
                       {"input_wait_s", Seconds(report.wait)},
                       {"compute_s", Seconds(report.compute)},
                       {"times_s", TimesJson(report.times)},
                       {"servers", ServersJson(servers)}});
}

std::string EvaluationEvent(uint64_t step, const Evaluation& evaluation) {
  Json json{{"event", "evaluation"}, {"step", step}};
  json.update(FieldsOf(evaluation));
  return JsonText(json);
}

std::string EvaluationJson(const Evaluation& evaluation) { return JsonText(FieldsOf(evaluation)); }

void WriteStep(EventFile& board, const StepReport& report, RowKind kind) {
  const double wait = Seconds(report.wait), all = wait + Seconds(report.compute);
  if (!board.is_open() || all <= 0) return;
  const double rate = static_cast<double>(report.rows) / all;
  board.Write(report.step, {{"train/loss", report.loss},
                            {"train/learning_rate", report.learning_rate},
                            {"train/gradient_norm", report.gradient_norm},
                            {"train/rows_per_second", rate},
                            {"input/wait_share", wait / all}});
  if (kind == RowKind::kPositions) {
    board.Write(report.step, {{"train/positions_per_second", rate}});
  }
}

void WriteEvaluation(EventFile& board, uint64_t step, const Evaluation& evaluation) {
  board.Write(step, {{"holdout/loss", evaluation.loss},
                     evaluation.hits.has_value()
                         ? Scalar{"holdout/accuracy", evaluation.accuracy()}
                         : Scalar{"holdout/below_mean_percent", evaluation.below_mean_percent()}});
  if (evaluation.top5_hits.has_value()) board.Write(step, {{"holdout/top5", evaluation.top5()}});
}

Verdict JudgeTraining(const TrainSummary& summary, const BackendDescription& backend,
                      const VerdictOptions& told) {
  return Judge({.times = summary.times,
                .steps = summary.step - summary.first_step,
                .gpu = backend.gpu,
                .told = told});
}

std::string SummaryJson(const TrainSummary& summary, RowKind kind, const InputReport& input,
                        const Verdict& verdict, const std::optional<DeviceTimes>& device) {
  Json json{{"first_step", summary.first_step},
            {"steps", summary.step},
            {"stopped", summary.stopped},
            {"early_stopped", summary.early_stopped},
            {"rows", summary.rows},
            {"seconds", summary.seconds()},
            {"rows_per_second", summary.rows_per_second()},
            {"input_wait_share", summary.wait_share()},
            {"wall_seconds", Seconds(summary.times.total())},
            {"times_s", TimesJson(summary.times)},
            {"limit", LimitName(verdict.limit)},
            {"verdict", verdict.text},
            {"loss_start", summary.loss_start},
            {"loss_end", summary.loss_end},
            {"cursor", summary.cursor},
            {"servers", ServersJson(input.servers)}};
  if (kind == RowKind::kImages) {
    json["truncated_images"] = input.images.truncated;
    json["image_warnings"] = input.images.warnings;
  }
  if (kind == RowKind::kPositions) {
    json["positions"] = summary.rows;
    json["positions_per_second"] = summary.rows_per_second();
  }
  if (!summary.digest.empty()) json["digest"] = summary.digest;
  if (summary.evaluation.has_value()) AddEvaluation(*summary.evaluation, json);
  if (summary.best.has_value()) {
    json["best_step"] = summary.best->step;
    json["best_holdout_loss"] = summary.best->loss;
  }
  if (device.has_value()) json["device"] = DeviceJson(*device);
  return JsonText(json, 2);
}

absl::StatusOr<EventLog> EventLog::Open(const std::string& path, bool goes_on) {
  EventLog log;
  if (path.empty()) return log;
  log.path_ = path;
  auto file = OpenOutput(path, /*append=*/goes_on);
  if (!file.ok()) return Annotate(file.status(), "opening the file of --events");
  log.file_ = *std::move(file);
  return log;
}

void EventLog::Write(absl::FunctionRef<std::string()> line) {
  if (file_ == nullptr) return;
  std::fputs(line().c_str(), file_.get());
  std::fputc('\n', file_.get());
  std::fflush(file_.get());
}

absl::Status EventLog::status() const {
  if (file_ == nullptr || std::ferror(file_.get()) == 0) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("writing ", path_, " failed; is the disk full?"));
}

}  // namespace penstock
