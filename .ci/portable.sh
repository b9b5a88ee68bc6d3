#!/usr/bin/env bash
# Builds the portable programs (docs/guides/portable.md), inspects them, and runs them where there
# is only glibc. Not part of ./check: it downloads Debian's sources and needs nasm.
set -euo pipefail
cd "$(dirname "$0")/.."
cmake/portable/archives.sh >/dev/null
.ci/build.sh portable
objects=(build/portable/kernels/CMakeFiles/penstock_kernels.dir/cuda/*.cu.o)
if [ -e "${objects[0]}" ]; then  # Without CUDA there are none.
  cmake "-DOBJECTS=$(IFS=';'; echo "${objects[*]}")" "-DCODE=sm_80;sm_90a" -P kernels/ptxas_test.cmake
  python3 kernels/sass_check.py --code sm_80 --code sm_90a "${objects[@]}" || [ $? = 77 ]
  PYTHONDONTWRITEBYTECODE=1 bench/gpu/pack  # Fails if it is too large to travel.
fi
PENSTOCK_PORTABLE_BIN=$PWD/build/portable/bin PYTHONDONTWRITEBYTECODE=1 \
  python3 tests/deploy/portable_test.py -v
for test in ranks_test ranks_killed_test; do  # In portable programs, ranks connect in another way.
  PENSTOCK_BIN=$PWD/build/portable/bin PYTHONDONTWRITEBYTECODE=1 python3 tests/e2e/$test.py
done
