// An input that stops fetching data, to show the speed of training without waiting for input.
#ifndef PENSTOCK_TRAINER_INPUT_DIAGNOSTIC_INPUT_H_
#define PENSTOCK_TRAINER_INPUT_DIAGNOSTIC_INPUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/input/input.h"

namespace penstock {

// Returns `normal_steps` batches from `inner`. Then returns `memory_steps` batches from memory
// without using `inner`: the last `keep` ones in turn. With `synthetic`, they have random bits in
// place of packed planes. Borrows `inner`. Thread safety is that of Input.
class DiagnosticInput : public Input {
 public:
  struct Options {
    uint64_t normal_steps = 0;
    uint64_t memory_steps = 0;
    uint64_t keep = 1;  // Number of batches to keep; at most normal_steps.
    bool synthetic = false;
  };
  DiagnosticInput(Input& inner, const Options& options) : inner_(inner), options_(options) {}

  // The end comes early if `inner` ends within the normal steps.
  absl::StatusOr<bool> Next(InputBatch& batch) override;
  // Batches from memory, and the end after them, are always ready.
  bool Ready() const override { return step_ >= options_.normal_steps || inner_.Ready(); }
  void Close() override { inner_.Close(); }
  std::vector<InputServer> servers() const override { return inner_.servers(); }

 private:
  // Keeps `batch`, which must own its bytes.
  void Keep(InputBatch batch);

  Input& inner_;
  const Options options_;
  uint64_t step_ = 0;
  std::vector<InputBatch> kept_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_INPUT_DIAGNOSTIC_INPUT_H_
