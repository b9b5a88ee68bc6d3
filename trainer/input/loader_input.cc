#include "trainer/input/loader_input.h"

#include <utility>

#include "base/status.h"

namespace penstock {
absl::StatusOr<std::unique_ptr<LoaderInput>> LoaderInput::Open(LoaderOptions options) {
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<Loader> loader, Loader::Open(std::move(options)));
  return std::make_unique<LoaderInput>(std::move(loader));
}

absl::StatusOr<bool> LoaderInput::Next(InputBatch& batch) {
  batch = {};
  auto slot = std::make_shared<Batch>();
  PENSTOCK_ASSIGN_OR_RETURN(const bool more, loader_->Next(*slot));
  if (!more) return false;
  batch.rows = slot->rows();
  batch.global_rows = slot->global_rows();
  batch.first_position = slot->position();
  batch.cursor = slot->cursor().ToString();
  batch.record_ids = slot->record_ids();
  batch.tensors.assign(slot->tensors().begin(), slot->tensors().end());
  batch.memory = std::move(slot);
  return true;
}

std::vector<InputServer> LoaderInput::servers() const {
  std::vector<InputServer> servers;
  for (const LoaderStats::Server& server : loader_->stats().servers) {
    servers.push_back(
        {server.address, server.parts, server.requests_in_flight, server.lost_requests});
  }
  return servers;
}

}  // namespace penstock
