// Text in lines of a given width.
#ifndef PENSTOCK_BASE_WRAP_WORDS_H_
#define PENSTOCK_BASE_WRAP_WORDS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace penstock {

// Splits `text` at spaces into lines of at most `columns` bytes; a word that is longer is split,
// too. Every line but the first begins with `indent` spaces. REQUIRES: indent < columns.
std::vector<std::string> WrapWords(absl::string_view text, size_t columns, size_t indent = 0);

}  // namespace penstock

#endif  // PENSTOCK_BASE_WRAP_WORDS_H_
