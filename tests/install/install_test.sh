#!/usr/bin/env bash
# install_test.sh SOURCE_DIR BUILD_DIR: installs, builds client/example and trainer/comm/example
# against the installed package, outside of the tree, and runs them. Checks that README.md's build
# line builds all installed libraries. It asks ninja what that line would build, because BUILD_DIR
# holds more.
set -euo pipefail
source_dir=$1 build_dir=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build_dir" --prefix "$work/prefix" >"$work/install.log"

read -ra targets < <(sed -n 's/^\.ci\/install\.sh && \.ci\/build\.sh release --target \([^#]*\).*/\1/p' \
  "$source_dir/README.md")
[[ ${#targets[@]} -gt 0 ]] || { echo "README.md has no line that builds the programs" >&2; exit 1; }
ninja -C "$build_dir" -t inputs "${targets[@]}" >"$work/inputs"
find "$work/prefix/lib" -name '*.a' -printf '%f\n' >"$work/archives"
[[ -s $work/archives ]] || { echo "no library was installed" >&2; exit 1; }
while read -r archive; do
  grep -q "/$archive\$" "$work/inputs" ||
    { echo "$archive is installed, and '${targets[*]}' of README.md do not build it" >&2; exit 1; }
done <"$work/archives"
# A header of ours that an installed header includes is installed, and is named penstock/...
include=$work/prefix/include
grep -rhoP '#include "\K[^"]+' "$include" | grep -v '^\(absl\|grpc\|nlohmann\)' | sort -u >"$work/included"
while read -r header; do
  [[ $header == penstock/* && -e $include/$header ]] ||
    { echo "$header is included by an installed header and is not installed" >&2; exit 1; }
done <"$work/included"
if grep -rE '#include .*(protobuf|grpc|pb\.h)' "$include"; then
  echo "these installed headers need protobuf or gRPC" >&2
  exit 1
fi
if find "$work/prefix" -path '*testing*' | grep .; then
  echo "files of tests are installed" >&2
  exit 1
fi

cp -r "$source_dir/client/example" "$work/example"
# Folders of the program that have the names of Penstock's.
mkdir -p "$work/example"/{base,client,records,trainer}
for header in base/dtype base/mutex client/loader/loader records/dataset/manifest; do
  mkdir -p "$work/example/$(dirname $header)"
  echo '#error "a header of the program"' >"$work/example/$header.h"
done
sed -i "1,/project/s/^project.*/&\ninclude_directories(BEFORE .)/" "$work/example/CMakeLists.txt"
cmake -G Ninja -S "$work/example" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" \
  -DCMAKE_CXX_COMPILER="$(command -v g++)" >"$work/configure.log" || { cat "$work/configure.log"; exit 1; }
cmake --build "$work/build"

"$work/prefix/bin/penstock" --version
cp -r "$source_dir/sample" "$work/sample"
"$work/prefix/bin/penstock" index "$work/sample" -o "$work/sample/manifest.pb"
"$work/build/mean_score" "$work/sample/manifest.pb" | tee "$work/out"
grep -Eq '^[0-9]{4,} positions, mean score -?0\.[0-9]+$' "$work/out"

# Each block of C++ in the documentation compiles as it stands; those of CUDA do where nvcc is found.
python3 "$source_dir/tests/install/cpp_blocks.py" "$source_dir" "$work/blocks" >"$work/blocks.list"
while read -r block; do
  if [[ $block != *.cu ]]; then
    g++ -std=c++20 -Wall -Werror -fsyntax-only -I "$work/prefix/include" "$block"
  elif command -v nvcc >/dev/null; then
    nvcc -std=c++20 -I "$work/prefix/include" -c "$block" -o "$block.o"
  fi
done <"$work/blocks.list"

# A program that ends while a loader is open, built with pkg-config.
export PKG_CONFIG_PATH=$work/prefix/lib/pkgconfig
read -ra flags < <(pkg-config --cflags --libs penstock)
g++ -std=c++20 "$source_dir/tests/install/exits.cc" -o "$work/exits" "${flags[@]}"
for way in exit leak global return; do
  for _ in 1 2 3 4 5 6 7 8; do
    code=0
    "$work/exits" "$way" "$work/sample/manifest.pb" || code=$?
    [[ $code == 3 ]] || { echo "exits $way ended with $code" >&2; exit 1; }
  done
done

cp -r "$source_dir/trainer/comm/example" "$work/ranks"
cmake -G Ninja -S "$work/ranks" -B "$work/ranks_build" -DCMAKE_PREFIX_PATH="$work/prefix" \
  -DCMAKE_CXX_COMPILER="$(command -v g++)" >"$work/configure.log" || { cat "$work/configure.log"; exit 1; }
cmake --build "$work/ranks_build"
"$work/prefix/bin/penstock" launch -np 3 -- "$work/ranks_build/own_loop" | tee "$work/out"
grep -Fxq '[0] 3 ranks: y = 3.000 x -1.000, loss 0.000000' "$work/out"
grep -Fxq '[0] 3 ranks: loss 1.979 and gradient 2.288 at first' "$work/out"
