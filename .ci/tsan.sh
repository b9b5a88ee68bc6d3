#!/usr/bin/env bash
# The tests of classes without gRPC types: the packaged gRPC is not instrumented.
set -euo pipefail
cd "$(dirname "$0")/.."
.ci/build.sh tsan
ctest --test-dir build/tsan --output-on-failure -j "$(nproc)" "$@"
