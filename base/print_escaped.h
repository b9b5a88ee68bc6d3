// Printing for people. All that the programs write to standard output and error as text goes
// through here, so that a name from a file cannot steer the terminal.
#ifndef PENSTOCK_BASE_PRINT_ESCAPED_H_
#define PENSTOCK_BASE_PRINT_ESCAPED_H_

#include <cstdio>
#include <string>
#include <type_traits>

#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

namespace penstock {

// `text` without control characters. Escaped are: C0 and DEL ("\n", "\x1b"), C1 and what reorders
// or breaks a line ("\u009b", "\u202e"), and bytes that are not UTF-8 ("\xff"). All else stays.
std::string Escaped(absl::string_view text);

// An argument of several lines, such as a table: its line feeds and tabs stay.
struct Multiline {
  explicit Multiline(absl::string_view its_text) : text(its_text) {}
  absl::string_view text;
};

std::string Escaped(Multiline text);

namespace print_internal {

template <typename T>
inline constexpr bool kIsText =
    std::is_convertible_v<const T&, absl::string_view> || std::is_same_v<T, Multiline>;

template <typename T>
using Shown = std::conditional_t<kIsText<T>, std::string, std::decay_t<const T&>>;

template <typename T>
Shown<T> Show(const T& value) {
  if constexpr (std::is_same_v<T, Multiline>) {
    return Escaped(value);
  } else if constexpr (kIsText<T>) {
    return Escaped(absl::string_view(value));
  } else {
    return value;
  }
}

}  // namespace print_internal

// absl::FPrintF() with every text among `args` Escaped(). The format is ours and goes as it is; it
// may hold escape sequences.
//
//   PrintEscaped(stderr, "penstock: %s\n", status.message());
//   PrintEscaped(stdout, "%s", Multiline(table));
template <typename... Args>
void PrintEscaped(std::FILE* out, const absl::FormatSpec<print_internal::Shown<Args>...>& format,
                  const Args&... args) {
  absl::FPrintF(out, format, print_internal::Show(args)...);
}

}  // namespace penstock

#endif  // PENSTOCK_BASE_PRINT_ESCAPED_H_
