#!/usr/bin/env bash
# Checks a wheel: client/python/check_wheel.sh WHEEL [ROOT]...
# Checks its size and tag, and installs and runs it with pip and with uv. Runs its programs in a
# root folder that contains nothing else, and in a copy of each ROOT, such as a folder made by
# `debootstrap --variant=minbase bullseye ROOT`. There nsswitch.conf and openssl.cnf name modules
# that need that machine's glibc. Tools come from PyPI, into a folder that is removed. Only root can
# change the root folder.
set -euo pipefail
wheel=$(realpath "$1")
roots=("${@:2}")
cd "$(dirname "$0")/../.."
most=25000000
work=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server"; fi; rm -rf "$work"' EXIT
unset PENSTOCK_BIN PYTHONPATH
python=${PYTHON:-python3}

fail() { echo "check_wheel.sh: $*" >&2; exit 1; }

# installed FOLDER: checks the commands of a virtual environment, which is outside the checkout.
installed() {
  local bin=$1/bin
  local package
  package=$(cd / && "$bin/python" -c 'import importlib.util as u; print(*u.find_spec("penstock").submodule_search_locations)')
  (
    cd "$work"
    [ "$("$bin/penstock" --version)" = "$("$package/bin/penstock" --version)" ]
    [ "$("$bin/python" -m penstock --version)" = "$("$package/bin/penstock" --version)" ]
    [ "$("$bin/penstock-server" --version)" = "$("$package/bin/penstock-server" --version)" ]
    [ "$("$bin/penstock" no-such-command >/dev/null 2>&1; echo $?)" != 0 ]
  ) || fail "$1: a command does not run its program"
  [ "$(stat -c %s "$bin/penstock")" -lt 1000 ] || fail "$bin/penstock is a second copy"
  reads "$work" "$bin/penstock" "$bin/penstock-server"
}

# reads FOLDER PENSTOCK SERVER [PREFIX...]: indexes data and reads it, once from a server and once
# without.
reads() {
  local folder=$1 penstock=$2 served=$3 run=("${@:4}") data=/penstock-data
  [ ${#run[@]} -gt 0 ] || data=$folder/penstock-data
  rm -rf "$folder/penstock-data"
  cp -r sample "$folder/penstock-data"
  "${run[@]}" "$penstock" index "$data" -o "$data/manifest.pb" >/dev/null 2>&1 || fail "index fails"
  "${run[@]}" "$served" --data-root "$data" --listen localhost:0 --address-file "$data/address" \
    --metrics-port 0 >"$work/server.log" 2>&1 &
  server=$!
  for _ in {1..100}; do
    if [ -e "$folder/penstock-data/address" ]; then break; fi
    kill -0 "$server" 2>/dev/null || { cat "$work/server.log" >&2; fail "$served ended"; }
    sleep 0.1
  done
  local common=("$penstock" stream "$data/manifest.pb" --global-batch-size 64 --steps 20 --digest --json -)
  local there here
  there=$("${run[@]}" "${common[@]}" --servers "localhost:$(sed 's/.*://' "$folder/penstock-data/address")" | digest)
  here=$("${run[@]}" "${common[@]}" --servers local: | digest)
  kill "$server" && wait "$server"
  server=
  rm -rf "$folder/penstock-data"
  [ -n "$here" ] && [ "$there" = "$here" ] || fail "a server gives ${there:-nothing}, local: ${here:-nothing}"
}

digest() { sed -n 's/.*"digest": *"\([^"]*\)".*/\1/p'; }

# runs_in ROOT NAME: copies the programs into a root folder and runs them there.
runs_in() {
  mkdir -p "$1/penstock-bin" "$1/etc"
  cp "$work"/pip/lib/python*/site-packages/penstock/bin/* "$1/penstock-bin"
  echo "127.0.0.1 localhost" >"$1/etc/hosts"
  printf 'hosts: compat files dns\ngroup: compat files\n' >"$1/etc/nsswitch.conf"
  printf '%s\n' 'openssl_conf = a' '[a]' 'providers = b' '[b]' 'default = c' 'other = d' '[c]' \
    'activate = 1' '[d]' 'activate = 1' 'module = /lib/x86_64-linux-gnu/libnss_compat.so.2' >"$1/etc/modules.cnf"
  reads "$1" /penstock-bin/penstock /penstock-bin/penstock-server \
    env OPENSSL_CONF=/etc/modules.cnf chroot "$1"
  echo "runs in $2"
}

[ "$(stat -c %s "$wheel")" -lt "$most" ] || fail "$wheel has more than $most bytes"

"$python" -m venv "$work/tools"
"$work/tools/bin/pip" install -q --disable-pip-version-check auditwheel uv
"$work/tools/bin/auditwheel" show "$wheel" | tr -s '\n ' ' ' >"$work/said"
grep -q 'consistent with the following platform tag: "manylinux_2_5_x86_64"' "$work/said" ||
  { cat "$work/said" >&2; fail "auditwheel allows another tag"; }

"$python" -m venv "$work/pip"
"$work/pip/bin/pip" install -q --disable-pip-version-check "$wheel"
installed "$work/pip"
echo "runs, installed with pip"
"$work/tools/bin/uv" -q venv --python "$work/pip/bin/python" "$work/uv"
"$work/tools/bin/uv" -q pip install --python "$work/uv/bin/python" "$wheel"
installed "$work/uv"
echo "runs, installed with uv"

if [ "$(id -u)" -ne 0 ]; then
  echo "not root: no other root was entered"
  exit 0
fi
mkdir "$work/empty"
runs_in "$work/empty" "a folder that has nothing else"
for root in "${roots[@]}"; do
  cp -a "$root" "$work/root"
  runs_in "$work/root" "$root"
  rm -rf "$work/root"
done
