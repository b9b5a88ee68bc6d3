// The programs of a model.
#ifndef PENSTOCK_TRAINER_STEP_MODEL_PROGRAM_H_
#define PENSTOCK_TRAINER_STEP_MODEL_PROGRAM_H_

#include <cstddef>

#include "trainer/model/model_config.h"
#include "trainer/model/parameter_table.h"
#include "trainer/step/input_format.h"
#include "trainer/step/program.h"

namespace penstock {

// Places where training leaves values out: each has a key of its own. 0: none does.
size_t DropoutSites(const ModelConfig& config);

// Predictions of a block of up to `rows` samples.
StepProgram BuildInference(const ModelConfig& config, const ParameterTable& table,
                           InputFormat format, size_t rows);

// The same of images, but in the place of the predictions the logits: (samples, classes), with the
// columns of padding that the table has.
StepProgram BuildLogits(const ModelConfig& config, const ParameterTable& table, InputFormat format,
                        size_t rows);

// Predictions, and the gradient of the loss added to one shard's gradients. REQUIRES: a format of
// the model's records.
StepProgram BuildTraining(const ModelConfig& config, const ParameterTable& table,
                          InputFormat format, size_t rows);

// What follows the blocks: the gradients of `shards` virtual shards merged in a fixed binary tree
// (at distance 1, 2, 4, ...: the bits do not depend on who computed what), their norm, AdamW.
StepProgram BuildUpdate(const ParameterTable& table, size_t shards);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_STEP_MODEL_PROGRAM_H_
