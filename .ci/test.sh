#!/usr/bin/env bash
# Builds a preset (default: release) and runs its tests: .ci/test.sh [PRESET] [OPTION OF CTEST]...
# -R NAME runs the tests of that name; it is an error if there are none.
#   release  whole programs, the Python package, and the tests of classes that sanitizers leave out
#   asan     with ASan, LeakSanitizer and UBSan: classes (-L unit), the emulated GPU, and the programs
#            that take untrusted input
#   tsan     classes that have threads and no gRPC types: the packaged gRPC is not instrumented
set -euo pipefail
cd "$(dirname "$0")/.."
preset=release
if [[ ${1-} = [a-z]* ]]; then
  preset=$1
  shift
fi
.ci/build.sh "$preset"
.ci/ctest.sh "$preset" "$@"
