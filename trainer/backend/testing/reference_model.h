// A model in double, computed with the plain references.
#ifndef PENSTOCK_TRAINER_BACKEND_TESTING_REFERENCE_MODEL_H_
#define PENSTOCK_TRAINER_BACKEND_TESTING_REFERENCE_MODEL_H_

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/counter_rng.h"
#include "trainer/backend/backend.h"
#include "trainer/backend/reference_backend.h"
#include "trainer/backend/testing/boards.h"
#include "trainer/model/initialize.h"
#include "trainer/step/arena_plan.h"
#include "trainer/step/fuse.h"
#include "trainer/step/model_program.h"

namespace penstock {

// Attention biases are nonzero too: zeros would hide errors in their use.
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

// The initial state of a training with these parameters.
inline TrainState InitialState(const ParameterTable& table) {
  TrainState state(table.arena_size());
  state.parameters = InitialParameters(table);
  return state;
}

// Computes a model's loss and gradients. Borrows the rows. `random_key` is the key of the batch's
// dropout.
class ReferenceModel {
 public:
  ReferenceModel(const ModelConfig& config, const BatchRows& rows, uint64_t random_key = 0)
      : table(ParameterTable::For(config)),
        program_(BuildTraining(config, table, rows.format, rows.rows)),
        rows_(rows),
        random_key_(random_key),
        results_(config.results()),
        targets_(rows.targets, rows.targets + rows.rows),
        activations_(program_.activation_size),
        predictions(rows.rows * results_),
        gradients(table.arena_size()) {
    const std::vector<float> initial = InitialParameters(table);
    parameters.assign(initial.begin(), initial.end());
  }
  ReferenceModel(const ModelConfig& config, const RandomBoards& boards)
      : ReferenceModel(config, boards.rows()) {}

  // Runs forward and backward. Sets `gradients` to those of the returned mean loss.
  double Run() {
    std::fill(gradients.begin(), gradients.end(), 0.0);
    const BlockMemory<double> memory{.parameters = parameters.data(),
                                     .gradients = gradients.data(),
                                     .activations = activations_.data(),
                                     .targets = targets_.data(),
                                     .predictions = predictions.data(),
                                     .input = rows_.input,
                                     .loss_weight = 1.0 / double(rows_.rows),
                                     .random_key = random_key_};
    for (const Op& op : program_.ops) RunReferenceOp(program_, op, memory, rows_.rows);
    return LossSum(results_, predictions, targets_) / double(rows_.rows);
  }

  // Errors of the parameter with the worst gradient: the largest error of an element relative to
  // the largest element, and the norm of all errors relative to the gradient's norm.
  struct Errors {
    double element = 0, norm = 0;
  };
  Errors WorstErrorsOf(const std::vector<float>& other) const {
    Errors worst;
    for (const Parameter& p : table.parameters()) {
      double largest = 0, error = 0, squares = 0, error_squares = 0;
      for (size_t i = p.offset; i < p.offset + p.count; ++i) {
        const double difference = gradients[i] - double(other[i]);
        largest = std::max(largest, std::abs(gradients[i]));
        error = std::max(error, std::abs(difference));
        squares += gradients[i] * gradients[i];
        error_squares += difference * difference;
      }
      worst.element = std::max(worst.element, error / largest);
      worst.norm = std::max(worst.norm, std::sqrt(error_squares / squares));
    }
    return worst;
  }

  // The error of the whole gradient, relative to its norm.
  double ErrorOf(const std::vector<float>& other) const {
    double error = 0, size = 0;
    for (size_t i = 0; i < gradients.size(); ++i) {
      error += std::pow(double(other[i]) - gradients[i], 2);
      size += std::pow(gradients[i], 2);
    }
    return std::sqrt(error / size);
  }

  void Fuse() {
    FuseResidualNorm(program_);
    FuseGelu(program_);
    FuseGeluBackward(program_);
    PlaceActivations(program_);
    activations_.resize(program_.activation_size);
  }

  ParameterTable table;

 private:
  StepProgram program_;
  const BatchRows rows_;
  const uint64_t random_key_;
  const size_t results_;
  std::vector<double> targets_, activations_;

 public:
  std::vector<double> parameters, predictions, gradients;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_TESTING_REFERENCE_MODEL_H_
