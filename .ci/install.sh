#!/usr/bin/env bash
# Installs the missing Debian packages of .ci/packages-programs.txt, which the programs need, and of
# .ci/packages.txt, which the tests need; `.ci/install.sh programs` installs only the first. Run it as
# root, or sudo is used.
set -euo pipefail
cd "$(dirname "$0")/.."

lists=(.ci/packages-programs.txt)
[ "${1-}" = programs ] || lists+=(.ci/packages.txt)
missing=()
while read -r package; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done < <(cat "${lists[@]}")
[ ${#missing[@]} -gt 0 ] || exit 0

echo "Penstock needs these Debian packages:" >&2
echo "  ${missing[*]}" >&2
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || {
    echo "Run as root: apt-get install ${missing[*]}   (or pass --no-install to go on without)" >&2
    exit 1
  }
  as_root=(sudo)
fi
echo "Installing them with apt-get (--no-install skips this)." >&2
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
