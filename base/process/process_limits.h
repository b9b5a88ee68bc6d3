// Checks whether the limits of this process (getrlimit(2)) leave room for what it needs. If they do
// not, the libraries that it uses end the process or hang, so the process must report the problem
// first.
#ifndef PENSTOCK_BASE_PROCESS_PROCESS_LIMITS_H_
#define PENSTOCK_BASE_PROCESS_PROCESS_LIMITS_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace penstock {

// Returns the bytes of address space that this process may map (RLIMIT_AS), or nullopt if there is
// no limit.
std::optional<uint64_t> AddressSpaceLimit();

// Call it in main(), before threads are started. malloc reserves 64 MiB of addresses for each of up
// to eight arenas a core. If address space is limited, all threads use one arena after this call.
void UseOneArenaUnderAnAddressLimit();

// The threads and memory that a process needs in addition to its present mappings.
struct AddressNeeds {
  uint64_t threads = 0;  // Number of threads. Each has a stack (ulimit -s).
  uint64_t bytes = 0;
};

// Returns kResourceExhausted if address space is too small. The message has the limit, the need and
// the remedy. `cure` completes "raise the limit, or".
absl::Status CheckAddressSpace(const AddressNeeds& needs, absl::string_view cure);

// Call it before gRPC is first used: without descriptors gRPC ends the process, and without threads
// or address space it hangs. OK: there is enough, and later calls return OK without a check.
// kResourceExhausted: the message has the limit, what is needed, and what to raise.
// `other_descriptors` is the number of descriptors that the caller opens besides gRPC's before it
// serves or reads.
absl::Status CheckLimitsForGrpc(uint64_t other_descriptors = 0);

}  // namespace penstock

#endif  // PENSTOCK_BASE_PROCESS_PROCESS_LIMITS_H_
