#!/usr/bin/env bash
# Every test, as users build it.
set -euo pipefail
cd "$(dirname "$0")/.."
.ci/build.sh release
ctest --test-dir build/release --output-on-failure -j "$(nproc)" "$@"
