#!/bin/sh
# Runs a compiler. Writes the output of ptxas -v to OBJECT.ptxas and passes everything else on.
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
