#!/usr/bin/env bash
# Runs every benchmark for a moment. This checks that they work, but asserts no speed.
set -euo pipefail
cd "$(dirname "$0")/.."
.ci/build.sh release --target benchmarks
bin=build/release/bin

run() {
  "$@" >/dev/null
  echo "ran $(basename "$1")"
}

# Whole programs have options of their own.
run $bin/mixing_bench --chunks 256
run $bin/cold_start --records 1000000 --shards 10 --runs 1
run $bin/strip_cache_bench --dtypes i8 --runs 1 --chunks 64 --steps 8
run $bin/pipeline_bench --records 20000 --seconds 0.2
run $bin/fair_share --seconds 0.1 --rounds 1
run $bin/fleet_sim --only ranks
run $bin/service_speed --records 20000 --mib 16
# A step of the large model would take as long as everything else here.
run $bin/trainer_bench --benchmark_min_time=0.001 --benchmark_filter=-Train/large

for bench in $bin/*_bench; do
  case $bench in
    */pipeline_bench | */mixing_bench | */strip_cache_bench | */trainer_bench) continue ;;
    */kernels_check_bench) continue ;;  # Its options are --check and --bench; tests run it.
  esac
  run "$bench" --benchmark_min_time=0.001
done
