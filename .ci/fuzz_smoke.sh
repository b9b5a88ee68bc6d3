#!/usr/bin/env bash
# Runs each fuzzer for some seconds (default 10), from an empty corpus.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-10}
.ci/build.sh asan --target fuzzers
findings=build/asan/findings
mkdir -p "$findings"
fuzz() {
  "$1" -max_total_time="$2" -timeout=10 -rss_limit_mb=2048 -artifact_prefix="$3/$(basename "$1")-" \
    >"$3/$(basename "$1").log" 2>&1 || { tail -n 40 "$3/$(basename "$1").log"; return 1; }
  echo "$(basename "$1"): $(grep -a '^Done' "$3/$(basename "$1").log")"
}
export -f fuzz
find build/asan/bin -name '*_fuzzer' | sort |
  xargs -P "$(nproc)" -I{} bash -c "fuzz {} $seconds $findings"
