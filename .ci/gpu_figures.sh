#!/usr/bin/env bash
# Says which figures of docs/figures/gpu are of kernels that have changed since. Never fails: only a machine
# with a GPU can make them anew (bench/gpu/run).
set -euo pipefail
cd "$(dirname "$0")/.."
PYTHONDONTWRITEBYTECODE=1 python3 bench/gpu/figures.py
