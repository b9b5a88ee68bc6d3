// Readable kernel names.
#ifndef PENSTOCK_TRAINER_PROFILE_KERNEL_NAME_H_
#define PENSTOCK_TRAINER_PROFILE_KERNEL_NAME_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace penstock {

inline constexpr size_t kMaxKernelName = 96;

// "_ZN8penstock4cuda4GeluIfEEvPKT_PS2_" -> "Gelu<float>": demangled, without result type,
// parameters and enclosing namespaces, and cut to kMaxKernelName characters. Names of other
// libraries are only cut.
std::string ShortKernelName(absl::string_view name);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_PROFILE_KERNEL_NAME_H_
