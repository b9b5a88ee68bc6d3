#!/usr/bin/env bash
# Builds one preset (default: release), or some of its targets. Options that begin with -D configure it:
#   .ci/build.sh asan --target fuzzers
#   .ci/build.sh release -DPENSTOCK_CUDA=ON --target penstock-train
# Warnings are errors with gcc and with clang.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
shift $(($# > 0))
options=()
while [[ ${1-} = -D* ]]; do
  options+=("$1")
  shift
done
mkdir -p build
cmake --preset "$preset" "${options[@]}" >"build/$preset.configure.log" 2>&1 || {
  cat "build/$preset.configure.log" >&2
  exit 1
}
# Prints whether the CUDA kernels are built, or why not.
grep -e '^-- CUDA: ' "build/$preset.configure.log" || true
cmake --build --preset "$preset" "$@" -- --quiet
