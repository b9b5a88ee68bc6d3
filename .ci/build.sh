#!/usr/bin/env bash
# Builds one preset (default: release), or some of its targets: .ci/build.sh asan --target fuzzers
# Warnings are errors with gcc and with clang.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
mkdir -p build
cmake --preset "$preset" >"build/$preset.configure.log" 2>&1 || {
  cat "build/$preset.configure.log" >&2
  exit 1
}
# Prints whether the CUDA kernels are built, or why not.
grep -e '^-- CUDA: ' "build/$preset.configure.log" || true
cmake --build --preset "$preset" "${@:2}" -- --quiet
