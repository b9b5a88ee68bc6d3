#include "trainer/profile/verdict.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/text.h"

namespace penstock {
namespace {

struct Rule {
  Phase phase;
  Limit limit;
  double lower, upper;  // Thresholds, as shares of the time.
};
constexpr std::array<Rule, 3> kRules = {{{Phase::kInput, Limit::kInput, 0.05, 0.20},
                                         {Phase::kLaunch, Limit::kLaunch, 0.03, 0.15},
                                         {Phase::kCollective, Limit::kCollective, 0.03, 0.15}}};
constexpr double kSmallStepSeconds = 0.2e-3;

double Seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

std::string InputAdvice(const VerdictOptions& told) {
  if (!told.packed) return "use --dtype packed, which needs an eighth of the bytes, or add servers";
  return absl::StrCat(
      "add servers, or give them more cores; `penstock bench` measures their rate",
      told.diagnoses ? "" : ", and --synthetic-data the training's rate without input");
}

std::string CollectiveAdvice(const VerdictOptions& told) {
  constexpr absl::string_view kAlways =
      "use a larger --global-batch-size, faster links or fewer ranks";
  if (told.half_exchange) return std::string(kAlways);
  return absl::StrCat(kAlways, "; ", told.fast ? "" : "--reduction fast ",
                      "--compression bf16 halves the bytes sent");
}

std::string ComputeAdvice(const VerdictInput& input) {
  return absl::StrCat("to train faster, use ", input.gpu ? "" : "a GPU, ",
                      input.told.bf16 ? "" : "--precision bf16, ",
                      input.gpu ? "another GPU" : "more cores", " or more ranks");
}

std::string Advice(Limit limit, const VerdictInput& input) {
  const char* const launches =
      input.told.several_steps_a_launch ? "a larger --steps-per-launch" : "--steps-per-launch K";
  switch (limit) {
    case Limit::kNothingRan:
      return "no step ran";
    case Limit::kInput:
      return InputAdvice(input.told);
    case Limit::kLaunch:
      return absl::StrCat("use a larger --global-batch-size, or ", launches);
    case Limit::kCollective:
      return CollectiveAdvice(input.told);
    case Limit::kTooSmallForGpu:
      return absl::StrCat("use a larger --global-batch-size or model, or ", launches,
                          " for fewer launches; otherwise train on the CPU");
    case Limit::kCompute:
      return ComputeAdvice(input);
  }
  return "";
}

// Returns the times of input, host to device, launch, compute, collective and other.
PhaseTimes WithoutOutput(PhaseTimes times) {
  times[Phase::kOutput] = {};
  return times;
}

Verdict Decide(const VerdictInput& input, const PhaseTimes& times) {
  if (input.steps == 0 || times.total().count() == 0) return {};
  Verdict verdict{Limit::kCompute, false, ""};
  double furthest = 1;
  for (const Rule& rule : kRules) {
    const double share = times.share(rule.phase), above = share / rule.lower;
    if (above < furthest) continue;
    furthest = above;
    verdict = {rule.limit, share >= rule.upper, ""};
  }
  const double compute = Seconds(times[Phase::kCompute]) / static_cast<double>(input.steps);
  if (input.gpu && verdict.limit == Limit::kLaunch && verdict.highly &&
      compute < kSmallStepSeconds) {
    verdict.limit = Limit::kTooSmallForGpu;
  }
  return verdict;
}

}  // namespace

const char* LimitName(Limit limit) {
  static constexpr const char* kNames[] = {"nothing-ran",         "input-bound",
                                           "launch-bound",        "communication-bound",
                                           "too-small-for-a-gpu", "compute-bound"};
  return kNames[static_cast<size_t>(limit)];
}

Verdict Judge(const VerdictInput& input) {
  const PhaseTimes times = WithoutOutput(input.times);
  Verdict verdict = Decide(input, times);
  if (verdict.limit == Limit::kNothingRan) {
    verdict.text = Advice(verdict.limit, input);
    return verdict;
  }
  const double ms = 1e3 * Seconds(times.total()) / static_cast<double>(input.steps);
  verdict.text = absl::StrFormat(
      "%s%s: a step takes %s ms: %.1f %% input, %.1f %% copies, %.1f %% launches, %.1f %% "
      "collectives, %.1f %% compute; %s",
      verdict.highly ? "highly " : "", LimitName(verdict.limit), ThreeDigits(ms),
      100 * times.share(Phase::kInput), 100 * times.share(Phase::kHostToDevice),
      100 * times.share(Phase::kLaunch), 100 * times.share(Phase::kCollective),
      100 * times.share(Phase::kCompute), Advice(verdict.limit, input));
  return verdict;
}

}  // namespace penstock
