#include "trainer/profile/kernel_name.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace penstock {
namespace {

std::string Demangle(absl::string_view name) {
  struct Freer {
    void operator()(char* text) const { std::free(text); }
  };
  int status = 0;
  const std::unique_ptr<char, Freer> plain(
      abi::__cxa_demangle(std::string(name).c_str(), nullptr, nullptr, &status));
  return status == 0 && plain != nullptr ? plain.get() : std::string(name);
}

// The function's own name with its template arguments: the text between the last blank or "::" and
// the "(" of the parameters, ignoring those inside "<...>".
absl::string_view OwnName(absl::string_view text) {
  size_t begin = 0, depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '<') ++depth;
    if (c == '>' && depth > 0) --depth;
    if (depth > 0) continue;
    if (c == '(') return text.substr(begin, i - begin);
    if (c == ' ') begin = i + 1;
    if (c == ':' && i > 0 && text[i - 1] == ':') begin = i + 1;
  }
  return text.substr(begin);
}

}  // namespace

std::string ShortKernelName(absl::string_view name) {
  std::string plain = Demangle(name);
  if (absl::StartsWith(name, "_Z")) {
    plain = absl::StrReplaceAll(plain, {{"(anonymous namespace)::", ""}, {"penstock::", ""}});
    plain = std::string(OwnName(plain));
  }
  if (plain.size() <= kMaxKernelName) return plain;
  return absl::StrCat(plain.substr(0, kMaxKernelName - 3), "...");
}

}  // namespace penstock
