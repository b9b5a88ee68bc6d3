#!/usr/bin/env bash
# Where nvcc is found, compiles the CUDA code, and runs its tests that need no GPU. Uses build/release
# and configures it as before at the end.
set -euo pipefail
cd "$(dirname "$0")/.."
before=$(sed -n 's/^PENSTOCK_CUDA:STRING=//p' build/release/CMakeCache.txt 2>/dev/null || true)
trap 'cmake build/release -DPENSTOCK_CUDA="${before:-AUTO}" >/dev/null' EXIT
.ci/build.sh release -DPENSTOCK_CUDA=NVCC
.ci/ctest.sh release -L cuda "$@"
