// Additions to absl::Status that the packaged Abseil lacks.
#ifndef PENSTOCK_BASE_STATUS_H_
#define PENSTOCK_BASE_STATUS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

// Puts "context: " before the message of `status`. OK stays OK. Payloads are kept.
absl::Status Annotate(const absl::Status& status, absl::string_view context);

// The status for a failed system call. The code follows `error_number` (ENOENT is kNotFound, EACCES
// is kPermissionDenied, ENOSPC is kResourceExhausted, ...). The message is "context: strerror".
absl::Status ErrnoToStatus(int error_number, absl::string_view context);

}  // namespace penstock

#define PENSTOCK_RETURN_IF_ERROR(expr)                                                        \
  do {                                                                                        \
    if (absl::Status penstock_status = (expr); !penstock_status.ok()) return penstock_status; \
  } while (false)

#define PENSTOCK_CONCAT_INNER_(a, b) a##b
#define PENSTOCK_CONCAT_(a, b) PENSTOCK_CONCAT_INNER_(a, b)

// PENSTOCK_ASSIGN_OR_RETURN(std::string name, ReadName());
#define PENSTOCK_ASSIGN_OR_RETURN(lhs, expr) \
  PENSTOCK_ASSIGN_OR_RETURN_(PENSTOCK_CONCAT_(penstock_statusor_, __LINE__), lhs, expr)
#define PENSTOCK_ASSIGN_OR_RETURN_(statusor, lhs, expr)    \
  auto statusor = (expr);                                  \
  if (!statusor.ok()) return std::move(statusor).status(); \
  lhs = *std::move(statusor)

#endif  // PENSTOCK_BASE_STATUS_H_
