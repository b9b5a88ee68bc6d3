// Fits y = 3x - 1 by gradient descent, each rank on points of its own:
//   penstock launch -np 4 -- own_loop
#include <cstdio>
#include <span>
#include <vector>

#include "trainer/comm/verbs.h"

namespace {

struct Model {
  std::vector<float> weights = {0, 0};  // Slope and offset.

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
};

absl::Status Train(penstock::RankVerbs& ranks) {
  Model model;
  if (ranks.Rank() != 0) model.weights = {9, 9};
  // All start with rank 0's weights.
  if (absl::Status status = ranks.Broadcast(std::span(model.weights), 0); !status.ok()) {
    return status;
  }
  penstock::DistributedOptimizer optimizer(ranks, [&](auto gradients) {
    for (size_t i = 0; i < model.weights.size(); ++i) model.weights[i] -= 0.5f * gradients[0][i];
  });
  double loss = 0;
  for (size_t step = 0; step < 200; ++step) {
    std::vector<float> gradient;
    loss = model.Gradient(ranks.Rank(), step, gradient);
    const std::span<float> gradients[] = {gradient};
    if (absl::StatusOr<bool> applied = optimizer.Step(gradients); !applied.ok()) {
      return applied.status();
    }
  }
  const absl::StatusOr<double> mean_loss = ranks.MetricAverage(loss);
  if (!mean_loss.ok()) return mean_loss.status();
  if (ranks.Rank() == 0) {
    std::printf("%zu ranks: y = %.3f x %+.3f, loss %.6f\n", ranks.Size(), model.weights[0],
                model.weights[1], *mean_loss);
  }
  return absl::OkStatus();
}

}  // namespace

int main() {
  penstock::RankVerbs ranks;
  absl::Status status = ranks.Init();
  if (status.ok()) {
    status = Train(ranks);
    const absl::Status end = ranks.Shutdown(status);  // The others hear why, if it failed.
    if (status.ok()) status = end;
  }
  if (!status.ok()) {
    std::fprintf(stderr, "own_loop: %s\n", std::string(status.message()).c_str());
    return 1;
  }
  return 0;
}
