// Fits y = 3x - 1 by gradient descent with momentum, each rank on its own points:
//   penstock launch -np 4 -- own_loop
#include <cmath>
#include <cstdio>
#include <span>
#include <vector>

#include "penstock/trainer/comm/verbs.h"

namespace {

constexpr size_t kSteps = 200;

struct Model {
  std::vector<float> weights = {0, 0};   // Slope and offset.
  std::vector<float> velocity = {0, 0};  // The optimizer's state.

  // The mean squared error over this rank's points, and its gradient.
  double Gradient(size_t rank, size_t step, std::vector<float>& gradient) const {
    constexpr size_t kPoints = 16;
    gradient.assign(2, 0);
    double loss = 0;
    for (size_t i = 0; i < kPoints; ++i) {
      const float x = static_cast<float>((rank * 7 + step * 5 + i * 3) % 17) / 17 - 0.5f;
      const float error = weights[0] * x + weights[1] - (3 * x - 1);
      loss += error * error / kPoints;
      gradient[0] += 2 * error * x / kPoints;
      gradient[1] += 2 * error / kPoints;
    }
    return loss;
  }

  void Update(std::span<const float> gradient) {
    for (size_t i = 0; i < weights.size(); ++i) {
      velocity[i] = 0.5f * velocity[i] - 0.5f * gradient[i];
      weights[i] += velocity[i];
    }
  }
};

// One value per step.
struct Curves {
  std::vector<double> losses, norms;  // Norms of the gradient.
};

absl::Status Train(penstock::RankVerbs& ranks, Model& model, Curves& curves) {
  // All ranks continue with rank 0's weights and optimizer state: only rank 0 may have read a
  // checkpoint.
  const std::span<float> state[] = {model.weights, model.velocity};
  if (absl::Status status = ranks.BroadcastParameters(state, 0); !status.ok()) return status;
  penstock::DistributedOptimizer optimizer(ranks,
                                           [&](auto gradients) { model.Update(gradients[0]); });
  for (size_t step = 0; step < kSteps; ++step) {
    std::vector<float> gradient;
    curves.losses.push_back(model.Gradient(ranks.Rank(), step, gradient));
    curves.norms.push_back(std::hypot(gradient[0], gradient[1]));
    const std::span<float> gradients[] = {gradient};
    if (absl::StatusOr<bool> applied = optimizer.Step(gradients); !applied.ok()) {
      return applied.status();
    }
  }
  return absl::OkStatus();
}

absl::Status Report(penstock::RankVerbs& ranks, const Model& model, Curves& curves) {
  // Replaces both curves by their means over ranks. One asynchronous operation does this while this
  // rank computes; the curves must not be touched until Wait().
  const penstock::RankHandle averaging =
      ranks.GroupedAllreduceAsync<double>({curves.losses, curves.norms});
  std::vector<float> unused;
  const double own_loss = model.Gradient(ranks.Rank(), kSteps, unused);
  if (absl::Status status = ranks.Wait(averaging); !status.ok()) return status;

  const absl::StatusOr<double> loss = ranks.MetricAverage(own_loss);
  if (!loss.ok()) return loss.status();
  if (ranks.Rank() == 0) {
    std::printf("%zu ranks: loss %.3f and gradient %.3f at first\n", ranks.Size(), curves.losses[0],
                curves.norms[0]);
    std::printf("%zu ranks: y = %.3f x %+.3f, loss %.6f\n", ranks.Size(), model.weights[0],
                model.weights[1], *loss);
  }
  return absl::OkStatus();
}

absl::Status TrainAndReport(penstock::RankVerbs& ranks) {
  Model model;
  if (ranks.Rank() != 0) model = {.weights = {9, 9}, .velocity = {9, 9}};
  Curves curves;
  if (absl::Status status = Train(ranks, model, curves); !status.ok()) return status;
  return Report(ranks, model, curves);
}

}  // namespace

int main() {
  penstock::RankVerbs ranks;
  absl::Status status = ranks.Init();
  if (status.ok()) {
    status = TrainAndReport(ranks);
    const absl::Status end = ranks.Shutdown(status);  // If it failed, the others learn why.
    if (status.ok()) status = end;
  }
  if (!status.ok()) {
    std::fprintf(stderr, "own_loop: %s\n", std::string(status.message()).c_str());
    return 1;
  }
  return 0;
}
