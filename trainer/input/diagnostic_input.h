// An input that stops asking for data: what training without waiting for input would be.
#ifndef PENSTOCK_TRAINER_INPUT_DIAGNOSTIC_INPUT_H_
#define PENSTOCK_TRAINER_INPUT_DIAGNOSTIC_INPUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/input/input.h"

namespace penstock {

// Hands out `inner`'s batches `normal_steps` times. After that it hands out `memory_steps` batches
// from memory without touching `inner`: the last `keep` ones in turn, if `synthetic` with random
// bits for packed planes. Borrows `inner`. Thread-safe as Input says.
class DiagnosticInput : public Input {
 public:
  struct Options {
    uint64_t normal_steps = 0;
    uint64_t memory_steps = 0;
    uint64_t keep = 1;  // At most normal_steps.
    bool synthetic = false;
  };
  DiagnosticInput(Input& inner, const Options& options) : inner_(inner), options_(options) {}

  // The end comes early if `inner` ends within the normal steps.
  absl::StatusOr<bool> Next(InputBatch& batch) override;
  // At once from memory, be it a batch or the end.
  bool Ready() const override { return step_ >= options_.normal_steps || inner_.Ready(); }
  void Close() override { inner_.Close(); }
  std::vector<InputServer> servers() const override { return inner_.servers(); }

 private:
  // Of a batch that owns its bytes.
  void Keep(InputBatch batch);

  Input& inner_;
  const Options options_;
  uint64_t step_ = 0;
  std::vector<InputBatch> kept_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_INPUT_DIAGNOSTIC_INPUT_H_
