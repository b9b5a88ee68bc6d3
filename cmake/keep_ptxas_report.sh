#!/bin/sh
# Runs a compiler; what ptxas -v says goes to OBJECT.ptxas, everything else where it went.
previous=
for argument; do
  [ "$previous" = -o ] && object=$argument
  previous=$argument
done
[ -n "$object" ] || exec "$@"
"$@" 2>"$object.stderr"
status=$?
grep -E '^(ptxas info|    [0-9]+ bytes)' "$object.stderr" >"$object.ptxas"
grep -vE '^(ptxas info|    [0-9]+ bytes)' "$object.stderr" >&2
rm -f "$object.stderr"
exit $status
