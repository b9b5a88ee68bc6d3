#!/usr/bin/env bash
# Lists the figures of docs/figures/gpu whose kernels have changed since they were measured. Never
# fails: only a machine with a GPU can measure them again (bench/gpu/contact).
set -euo pipefail
cd "$(dirname "$0")/.."
PYTHONDONTWRITEBYTECODE=1 python3 bench/gpu/figures.py
