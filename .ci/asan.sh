#!/usr/bin/env bash
# Every test, built by clang with AddressSanitizer, LeakSanitizer and UBSan.
set -euo pipefail
cd "$(dirname "$0")/.."
.ci/build.sh asan
export UBSAN_OPTIONS=print_stacktrace=1
ctest --test-dir build/asan --output-on-failure -j "$(nproc)" "$@"
