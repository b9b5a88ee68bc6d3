#!/usr/bin/env bash
# Runs every test of the build that users make. With -R NAME, runs the tests of that name; it is an
# error if there are none.
set -euo pipefail
cd "$(dirname "$0")/.."
.ci/build.sh release
.ci/ctest.sh release "$@"
