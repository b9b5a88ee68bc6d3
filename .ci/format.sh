#!/usr/bin/env bash
# Fails if clang-format would change a file; `.ci/format.sh --fix` changes it.
set -euo pipefail
cd "$(dirname "$0")/.."
mode=(--dry-run --Werror)
[ "${1-}" = --fix ] && mode=(-i)
git ls-files -z '*.h' '*.cc' '*.cu' '*.cuh' | xargs -0 -r -n 200 -P "$(nproc)" clang-format "${mode[@]}"
