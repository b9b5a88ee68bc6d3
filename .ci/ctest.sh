#!/usr/bin/env bash
# Runs the tests of a build: .ci/ctest.sh PRESET [OPTION OF CTEST]... Tests of whole programs wait
# for two thirds of their time, so three tests run at a time for each core.
set -euo pipefail
cd "$(dirname "$0")/.."
export UBSAN_OPTIONS=print_stacktrace=1
export LSAN_OPTIONS=suppressions=$PWD/.ci/lsan.supp:print_suppressions=0
export TSAN_OPTIONS=suppressions=$PWD/.ci/tsan.supp
ctest --test-dir "build/$1" --no-tests=error --output-on-failure --test-output-size-passed 1000000 \
  -j $((3 * $(nproc))) "${@:2}"
