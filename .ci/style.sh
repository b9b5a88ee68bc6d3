#!/usr/bin/env bash
# Checks the sources without compiling them.
set -euo pipefail
cd "$(dirname "$0")/.."
.ci/format.sh
.ci/layering.sh
.ci/class_size.sh
.ci/links.py
tests/mutants.py --check
.ci/gpu_figures.sh
