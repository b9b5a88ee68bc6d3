#!/usr/bin/env bash
# Fails if a class in client/fetch has more than 40 methods or 25 fields (docs/internals/client.md,
# "The client"). Counts the declarations that clang-format puts on lines of their own, indented by
# two. Structs are records and are not counted. --list prints the counts of every class.
set -euo pipefail
cd "$(dirname "$0")/.."

git ls-files ':(glob)client/fetch/*.h' | xargs awk -v list="${1:-}" '
  function finish() {
    if (list != "") printf "%-16s %3d methods %3d fields\n", name, methods, fields
    if (methods > 40 || fields > 25) {
      printf "%s: %s has %d methods and %d fields: at most 40 and 25\n", FILENAME, name, methods, fields
      failed = 1
    }
    name = ""
  }
  /^class [A-Za-z]+.*\{$/ { name = $2; methods = fields = 0; next }
  name == "" { next }
  /^};/ { finish(); next }
  { sub(/ *\/\/.*/, "") }
  !/^  [A-Za-z~]/ || /^  (struct|enum|using|friend|template|static constexpr|class) / { next }
  /^  [^=]*\(/ && !/std::function</ { ++methods; next }
  /[A-Za-z0-9]_( = .*| = \{|\{.*\})?;$|_ = / { ++fields }
  END { exit failed }'
