#!/usr/bin/env bash
# Makes the wheel for any Linux on x86-64, in build/wheel/dist:
#   client/python/build_wheel.sh [--check [ROOT]...]
# --check installs it with pip and with uv and runs it, also in the root folders of older Linuxes
# (client/python/check_wheel.sh). Needs nasm and dpkg-dev in addition to the packages that
# .ci/install.sh installs.
set -euo pipefail
cd "$(dirname "$0")/../.."
programs=(penstock penstock-server)
# auditwheel allows this tag because the programs use no symbols of glibc. manylinux1 is its older
# name.
platform=manylinux_2_5_x86_64.manylinux1_x86_64

[ -e build/archives/libspdlog.a ] || cmake/portable/archives.sh >/dev/null
.ci/build.sh wheel
cmake/portable/licenses.py build/wheel build/wheel/licenses "${programs[@]}"
rm -rf build/wheel/dist && mkdir build/wheel/dist
wheel=$(python3 client/python/backend/penstock_wheel.py --programs build/wheel/bin \
  --licenses build/wheel/licenses --platform "$platform" build/wheel/dist)
ls -l "$wheel"
[ "${1-}" != --check ] || client/python/check_wheel.sh "$wheel" "${@:2}"
