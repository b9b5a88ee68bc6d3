#!/usr/bin/env bash
# Makes the static libraries that Debian 12 does not package, from Debian's own sources of the
# installed versions: libisal (its CRCs), spdlog with fmt, prometheus-cpp (core).
#   cmake/portable/archives.sh [FOLDER]      default: build/archives; existing libraries are kept
# Needs nasm, dpkg-dev and the packages of .ci/packages-programs.txt; takes about a minute.
set -euo pipefail
cd "$(dirname "$0")/../.."
mkdir -p "${1:-build/archives}"
out=$(realpath "${1:-build/archives}")
work=$out/work

for tool in nasm dpkg-source g++ make; do
  command -v $tool >/dev/null || { echo "archives.sh: $tool is missing: apt-get install nasm dpkg-dev g++ make" >&2; exit 1; }
done

# Runs apt with its own list of sources; the machine's list stays as it is.
fetch() {
  local package=$1
  local version
  version=$(dpkg-query -W -f '${source:Version}' "$package")
  local source
  source=$(dpkg-query -W -f '${source:Package}' "$package")
  mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
  local apt=(apt-get -qq -o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work/cache" -o APT::Sandbox::User=root)
  if [ ! -e "$work/sources.list" ]; then
    echo "deb-src ${PENSTOCK_DEBIAN_MIRROR:-http://deb.debian.org/debian} bookworm main" >"$work/sources.list"
    "${apt[@]}" update
  fi
  (cd "$work" && "${apt[@]}" source --download-only "$source=$version" >&2)
  rm -rf "${work:?}/$source"
  dpkg-source --no-check -x "$work/${source}_${version#*:}.dsc" "$work/$source" >&2
}

# compile COMPILER FLAGS.. -- SOURCES..: leaves only these sources' objects in $work/objects.
compile() {
  local command=()
  while [ "$1" != -- ]; do command+=("$1"); shift; done
  shift
  rm -rf "$work/objects" && mkdir "$work/objects"
  printf '%s\n' "$@" | xargs -P "$(nproc)" -I{} sh -c \
    'source=$1; shift; exec "$@" -c "$source" -o "$0/$(echo "$source" | tr / _).o"' \
    "$work/objects" {} "${command[@]}"
}

archive() { rm -f "$out/$1" && ar rcs "$out/$1" "$work"/objects/*.o; }

if [ ! -e "$out/libisal.a" ]; then
  fetch libisal-dev
  make -s -C "$work/libisal" -f Makefile.unx units=crc -j "$(nproc)" lib >&2
  cp "$work/libisal/bin/isa-l.a" "$out/libisal.a"
fi
if [ ! -e "$out/libprometheus-cpp-core.a" ]; then
  fetch prometheus-cpp-dev
  source=$work/prometheus-cpp
  compile g++ -O2 -fPIE -w -I"$source/core/include" -- "$source"/core/src/*.cc "$source"/core/src/detail/*.cc
  archive libprometheus-cpp-core.a
fi
if [ ! -e "$out/libfmt.a" ]; then
  fetch libfmt-dev
  compile g++ -O2 -fPIE -w -I"$work/fmtlib/include" -- "$work"/fmtlib/src/{format,os}.cc
  archive libfmt.a
fi
if [ ! -e "$out/libspdlog.a" ]; then
  fetch libspdlog-dev
  rm "$work/spdlog/src/fmt.cpp" "$work/spdlog/src/bundled_fmtlib_format.cpp" 2>/dev/null || true
  compile g++ -O2 -fPIE -w -DSPDLOG_COMPILED_LIB -DSPDLOG_FMT_EXTERNAL -I"$work/spdlog/include" -- "$work"/spdlog/src/*.cpp
  archive libspdlog.a
fi
rm -rf "$work"
ls -l "$out"
