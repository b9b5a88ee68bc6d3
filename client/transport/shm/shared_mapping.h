// A server's pool of shared memory, as a client sees it.
#ifndef PENSTOCK_CLIENT_TRANSPORT_SHM_SHARED_MAPPING_H_
#define PENSTOCK_CLIENT_TRANSPORT_SHM_SHARED_MAPPING_H_

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "base/io/unique_fd.h"

namespace penstock {

// Mapped read-only. Immutable, except for what the server writes.
class SharedMapping {
 public:
  // Maps the descriptor. Accepts only memory that cannot kill its reader: ordinary memory whose
  // size is sealed. kFailedPrecondition: the memory is of another kind; the message says what is
  // missing.
  static absl::StatusOr<std::shared_ptr<const SharedMapping>> Map(const UniqueFd& fd);
  ~SharedMapping();
  SharedMapping(const SharedMapping&) = delete;
  SharedMapping& operator=(const SharedMapping&) = delete;

  std::span<const uint8_t> bytes() const { return bytes_; }

 private:
  explicit SharedMapping(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  const std::span<const uint8_t> bytes_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_TRANSPORT_SHM_SHARED_MAPPING_H_
