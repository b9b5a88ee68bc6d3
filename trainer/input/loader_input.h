// The loader as a training's input.
#ifndef PENSTOCK_TRAINER_INPUT_LOADER_INPUT_H_
#define PENSTOCK_TRAINER_INPUT_LOADER_INPUT_H_

#include <memory>
#include <utility>
#include <vector>

#include "client/loader/loader.h"
#include "trainer/input/input.h"

namespace penstock {

// Owns the loader. A batch keeps its slot of the loader. Thread safety is that of Input.
class LoaderInput : public Input {
 public:
  explicit LoaderInput(std::unique_ptr<Loader> loader) : loader_(std::move(loader)) {}

  static absl::StatusOr<std::unique_ptr<LoaderInput>> Open(LoaderOptions options);

  absl::StatusOr<bool> Next(InputBatch& batch) override;
  bool Ready() const override { return loader_->Ready(); }
  void Close() override { loader_->Close(); }
  std::vector<InputServer> servers() const override;

  const Loader& loader() const { return *loader_; }

 private:
  std::unique_ptr<Loader> loader_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_INPUT_LOADER_INPUT_H_
