// Whether the limits of this process (getrlimit(2)) leave it what it needs. Where they do not, the
// libraries that it uses end it, or hang, so it is to say so first.
#ifndef PENSTOCK_BASE_PROCESS_PROCESS_LIMITS_H_
#define PENSTOCK_BASE_PROCESS_PROCESS_LIMITS_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace penstock {

// Bytes of addresses that this process may map (RLIMIT_AS); none: as many as there are.
std::optional<uint64_t> AddressSpaceLimit();

// For main(), before threads are started. malloc reserves 64 MiB of addresses for each of up to
// eight arenas a core: where addresses are limited, all threads use one arena from now on.
void UseOneArenaUnderAnAddressLimit();

// What a process needs beside what it has mapped by now.
struct AddressNeeds {
  uint64_t threads = 0;  // Each has a stack (ulimit -s).
  uint64_t bytes = 0;
};

// kResourceExhausted: the limit of addresses, what is needed, and what to do; `cure` goes on with
// "raise it, or".
absl::Status CheckAddressSpace(const AddressNeeds& needs, absl::string_view cure);

// To be called before gRPC is first used: without descriptors it ends the process, without threads
// or addresses it hangs. OK: there is enough now, and gRPC has it from then on. kResourceExhausted:
// the limit, what is needed and what to raise. `other_descriptors` are those that the caller opens
// beside gRPC's before it serves or reads.
absl::Status CheckLimitsForGrpc(uint64_t other_descriptors = 0);

}  // namespace penstock

#endif  // PENSTOCK_BASE_PROCESS_PROCESS_LIMITS_H_
