// Long text on narrow terminals.
#ifndef PENSTOCK_CLI_WRAP_WORDS_H_
#define PENSTOCK_CLI_WRAP_WORDS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace penstock {

// `text` in lines of at most `columns`, parted at spaces; a word that is longer is parted, too.
// Each line but the first begins with `indent` spaces. REQUIRES: indent < columns.
std::vector<std::string> WrapWords(absl::string_view text, size_t columns, size_t indent = 0);

// A screen shows this much of a cause.
inline constexpr size_t kMaxCauseLines = 3;

// The first `most` of `lines`, which WrapWords() made of these columns; the last of them ends with
// ".." where there are more. REQUIRES: most > 0.
std::vector<std::string> FirstLines(std::vector<std::string> lines, size_t most, size_t columns);

}  // namespace penstock

#endif  // PENSTOCK_CLI_WRAP_WORDS_H_
