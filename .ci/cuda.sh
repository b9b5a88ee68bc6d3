#!/usr/bin/env bash
# Compiles the CUDA code if nvcc is found, and runs its tests; those that need a GPU are skipped
# without one. Uses build/release, and restores its configuration at the end.
set -euo pipefail
cd "$(dirname "$0")/.."
before=$(sed -n 's/^PENSTOCK_CUDA:STRING=//p' build/release/CMakeCache.txt 2>/dev/null || true)
trap 'cmake build/release -DPENSTOCK_CUDA="${before:-AUTO}" -UCUBLASLT_INCLUDE_DIR >/dev/null' EXIT
.ci/build.sh release -DPENSTOCK_CUDA=NVCC
.ci/ctest.sh release -L cuda "$@"
