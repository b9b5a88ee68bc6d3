// The loader as the training's input.
#ifndef PENSTOCK_TRAINER_LOADER_INPUT_H_
#define PENSTOCK_TRAINER_LOADER_INPUT_H_

#include <memory>
#include <utility>
#include <vector>

#include "client/loader/loader.h"
#include "trainer/input.h"

namespace penstock {

// Owns the loader and the batch in use. Thread-safe as Input says.
class LoaderInput : public Input {
 public:
  explicit LoaderInput(std::unique_ptr<Loader> loader) : loader_(std::move(loader)) {}

  static absl::StatusOr<std::unique_ptr<LoaderInput>> Open(LoaderOptions options);

  absl::StatusOr<bool> Next(InputBatch& batch) override;
  void Close() override { loader_->Close(); }
  std::vector<InputServer> servers() const override;

  const Loader& loader() const { return *loader_; }

 private:
  std::unique_ptr<Loader> loader_;
  Batch batch_;  // After loader_: a batch must not outlive its loader.
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_LOADER_INPUT_H_
