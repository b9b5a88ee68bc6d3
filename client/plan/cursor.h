// A cursor says where to resume. It is a few bytes that belong to a consumed batch.
#ifndef PENSTOCK_CLIENT_PLAN_CURSOR_H_
#define PENSTOCK_CLIENT_PLAN_CURSOR_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

struct Cursor {
  uint64_t order_fingerprint = 0;
  uint64_t epoch = 0;
  uint64_t position = 0;  // Position of the next row, counted over all ranks.

  // Returns text such as "ps1-0123456789abcdef-3-81920".
  std::string ToString() const;
  // kInvalidArgument: `text` is not a cursor. The message shows what one looks like.
  static absl::StatusOr<Cursor> Parse(absl::string_view text);

  friend bool operator==(const Cursor&, const Cursor&) = default;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_PLAN_CURSOR_H_
