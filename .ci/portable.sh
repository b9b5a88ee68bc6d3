#!/usr/bin/env bash
# The portable programs (docs/portable.md): built, looked at, and run where there is only glibc.
# Not part of ./check: it fetches Debian's sources and needs nasm.
set -euo pipefail
cd "$(dirname "$0")/.."
cmake/portable/archives.sh >/dev/null
.ci/build.sh portable
PENSTOCK_PORTABLE_BIN=$PWD/build/portable/bin PYTHONDONTWRITEBYTECODE=1 \
  python3 tests/deploy/portable_test.py -v
