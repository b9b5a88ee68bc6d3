// The board model in double, by the plain references.
#ifndef PENSTOCK_TRAINER_BACKEND_TESTING_REFERENCE_MODEL_H_
#define PENSTOCK_TRAINER_BACKEND_TESTING_REFERENCE_MODEL_H_

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/reference/loss.h"
#include "records/base/counter_rng.h"
#include "trainer/backend/reference_backend.h"
#include "trainer/backend/testing/boards.h"
#include "trainer/model/initialize.h"
#include "trainer/step/arena_plan.h"
#include "trainer/step/fuse_gelu.h"
#include "trainer/step/model_program.h"

namespace penstock {

// Also biases of attention have values: at zero it would not show what is done with them.
inline std::vector<float> InitialParameters(const ParameterTable& table) {
  std::vector<float> parameters(table.arena_size());
  InitializeParameters(table, 11, parameters);
  CounterRng rng(12);
  for (const Parameter& parameter : table.parameters()) {
    if (parameter.kind != ParameterKind::kAttentionBias) continue;
    float* values = parameters.data() + parameter.offset;
    std::generate_n(values, parameter.count, [&] { return float(2 * rng.Uniform() - 1); });
  }
  return parameters;
}

// Its loss and gradients. Borrows the boards.
class ReferenceModel {
 public:
  ReferenceModel(const ModelConfig& config, const RandomBoards& boards)
      : table(ParameterTable::For(config)),
        program_(BuildTraining(config, table, kPackedBoards, boards.scores.size())),
        boards_(boards),
        targets_(boards.scores.begin(), boards.scores.end()),
        activations_(program_.activation_size),
        predictions(targets_.size()),
        gradients(table.arena_size()) {
    const std::vector<float> initial = InitialParameters(table);
    parameters.assign(initial.begin(), initial.end());
  }

  // Runs forward and backward; gradients become those of the returned mean squared error.
  double Run() {
    std::fill(gradients.begin(), gradients.end(), 0.0);
    const BlockMemory<double> memory{.parameters = parameters.data(),
                                     .gradients = gradients.data(),
                                     .activations = activations_.data(),
                                     .targets = targets_.data(),
                                     .predictions = predictions.data(),
                                     .input = boards_.records.data(),
                                     .loss_weight = 1.0 / double(targets_.size())};
    RunReference(program_, memory, targets_.size());
    return reference::SquaredErrorSum(predictions.data(), targets_.data(), targets_.size()) /
           double(targets_.size());
  }

  // Of the whole gradient, relative to its norm.
  double ErrorOf(const std::vector<float>& other) const {
    double error = 0, size = 0;
    for (size_t i = 0; i < gradients.size(); ++i) {
      error += std::pow(double(other[i]) - gradients[i], 2);
      size += std::pow(gradients[i], 2);
    }
    return std::sqrt(error / size);
  }

  void FuseGelus() {
    FuseGelu(program_);
    FuseGeluBackward(program_);
    PlaceActivations(program_);
    activations_.resize(program_.activation_size);
  }

  ParameterTable table;

 private:
  StepProgram program_;
  const RandomBoards& boards_;
  std::vector<double> targets_, activations_;

 public:
  std::vector<double> parameters, predictions, gradients;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_TESTING_REFERENCE_MODEL_H_
