#!/usr/bin/env bash
# Every test, as users build it; with -R NAME some, and an error if there are none.
set -euo pipefail
cd "$(dirname "$0")/.."
.ci/build.sh release
.ci/ctest.sh release "$@"
