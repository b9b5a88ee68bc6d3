// Kernels' names as a person reads them.
#ifndef PENSTOCK_TRAINER_PROFILE_KERNEL_NAME_H_
#define PENSTOCK_TRAINER_PROFILE_KERNEL_NAME_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace penstock {

inline constexpr size_t kMaxKernelName = 96;

// "_ZN8penstock4cuda4GeluIfEEvPKT_PS2_" -> "Gelu<float>": demangled, without result, parameters and
// the namespaces around the name, cut to kMaxKernelName characters. Any other name, a library's, is
// only cut.
std::string ShortKernelName(absl::string_view name);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_PROFILE_KERNEL_NAME_H_
