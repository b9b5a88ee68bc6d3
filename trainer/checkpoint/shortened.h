// Shortens long settings for one line of a message.
#ifndef PENSTOCK_TRAINER_CHECKPOINT_SHORTENED_H_
#define PENSTOCK_TRAINER_CHECKPOINT_SHORTENED_H_

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace penstock {

// Returns `text`, or, if it is long, the part around its first difference from `other`.
inline std::string Shortened(absl::string_view text, absl::string_view other) {
  constexpr size_t kMost = 80, kBefore = 20;
  if (text.size() <= kMost) return std::string(text);
  const auto differs = std::mismatch(text.begin(), text.end(), other.begin(), other.end()).first;
  const auto at = static_cast<size_t>(differs - text.begin());
  const size_t begin = at < kMost ? 0 : at - kBefore;
  return absl::StrCat(begin > 0 ? "..." : "", text.substr(begin, kMost),
                      begin + kMost < text.size() ? "..." : "");
}

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CHECKPOINT_SHORTENED_H_
