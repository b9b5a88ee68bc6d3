// The programs of a model.
#ifndef PENSTOCK_TRAINER_STEP_MODEL_PROGRAM_H_
#define PENSTOCK_TRAINER_STEP_MODEL_PROGRAM_H_

#include <cstddef>

#include "trainer/model/model_config.h"
#include "trainer/model/parameter_table.h"
#include "trainer/step/input_format.h"
#include "trainer/step/program.h"

namespace penstock {

// Number of dropout sites, each with its own key; 0 without dropout.
size_t DropoutSites(const ModelConfig& config);

// The program computes predictions of a block of up to `rows` samples.
StepProgram BuildInference(const ModelConfig& config, const ParameterTable& table,
                           InputFormat format, size_t rows);

// The program does the same for image models, but computes logits (samples, classes) instead of
// predictions, including the padding columns of the table.
StepProgram BuildLogits(const ModelConfig& config, const ParameterTable& table, InputFormat format,
                        size_t rows);

// The program computes predictions, and adds the gradient of the loss to one shard's gradients.
// REQUIRES: `format` is one of the model's.
StepProgram BuildTraining(const ModelConfig& config, const ParameterTable& table,
                          InputFormat format, size_t rows);

// The program does the work after the blocks. It merges the gradients of `shards` virtual shards in
// a fixed binary tree, at distance 1, 2, 4, ..., so that the bits do not depend on who computed
// which shard. Then it computes the gradient's norm, and does AdamW's update.
StepProgram BuildUpdate(const ParameterTable& table, size_t shards);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_STEP_MODEL_PROGRAM_H_
