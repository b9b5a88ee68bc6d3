// Printing for people. The programs write all text for standard output and standard error through
// this header, so that a name from a file cannot control the terminal.
#ifndef PENSTOCK_BASE_PRINT_ESCAPED_H_
#define PENSTOCK_BASE_PRINT_ESCAPED_H_

#include <cstdio>
#include <string>
#include <type_traits>

#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

namespace penstock {

// Escapes control characters in `text`: C0 and DEL ("\n", "\x1b"), C1 and characters that reorder
// or break a line ("\u009b", "\u202e"), and bytes that are not UTF-8 ("\xff"). Everything else
// stays.
std::string Escaped(absl::string_view text);

// Marks an argument of several lines, such as a table: its line feeds and tabs are kept. The text
// must outlive it.
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

// Like absl::FPrintF(), but applies Escaped() to every text among `args`. The format is a constant
// of the program. It is not escaped, so it may contain escape sequences.
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
