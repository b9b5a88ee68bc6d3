#!/usr/bin/env bash
# Tests, under TSan, the code that has threads and no gRPC types: the packaged gRPC is not
# instrumented.
set -euo pipefail
cd "$(dirname "$0")/.."
.ci/build.sh tsan
export TSAN_OPTIONS=suppressions=$PWD/.ci/tsan.supp
.ci/ctest.sh tsan "$@"
