#!/usr/bin/env bash
# Runs every test, built by clang with AddressSanitizer, LeakSanitizer and UBSan.
set -euo pipefail
cd "$(dirname "$0")/.."
.ci/build.sh asan
export UBSAN_OPTIONS=print_stacktrace=1
export LSAN_OPTIONS=suppressions=$PWD/.ci/lsan.supp:print_suppressions=0
.ci/ctest.sh asan "$@"
