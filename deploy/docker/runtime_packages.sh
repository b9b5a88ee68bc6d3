#!/usr/bin/env bash
# Prints the Debian packages whose libraries the given programs load, one per line.
#   runtime_packages.sh PROGRAM...
set -euo pipefail

# Resolves the links of update-alternatives. dpkg knows a file by the path that its package names:
# with /usr or, because /lib is a link to /usr/lib, without.
mapfile -t libraries < <(ldd "$@" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' |
  xargs -r readlink -f | sed 's,^/usr,,' | sort -u)
found=$(dpkg-query -S "${libraries[@]}" "${libraries[@]/#//usr}" 2>/dev/null || true)
for library in "${libraries[@]}"; do
  grep -qF -e ": $library" -e ": /usr$library" <<<"$found" ||
    { echo "runtime_packages.sh: no package has $library" >&2; exit 1; }
done
sed 's/:.*//' <<<"$found" | sort -u
