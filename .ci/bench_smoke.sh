#!/usr/bin/env bash
# Runs every unit benchmark for a moment: they must work; how fast they are is asserted nowhere.
set -euo pipefail
cd "$(dirname "$0")/.."
for bench in build/release/bin/*_bench; do
  case $bench in
    */pipeline_bench | */mixing_bench) continue ;;  # Whole programs; their own tests run them.
  esac
  "$bench" --benchmark_min_time=0.001 >/dev/null
  echo "ran $(basename "$bench")"
done
