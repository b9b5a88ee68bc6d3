#!/usr/bin/env bash
# Installs the Python packages that tests use into a virtual environment of this checkout. Without
# them those tests are skipped, and say so.
set -euo pipefail
cd "$(dirname "$0")/.."
stamp=build/python/requirements.txt
cat .ci/requirements.txt .ci/requirements-alone.txt | cmp -s - "$stamp" && exit 0

mkdir -p build
install=(build/python/bin/pip install -q --retries 1 --disable-pip-version-check)
{ python3 -m venv build/python &&
  "${install[@]}" -r .ci/requirements.txt &&
  "${install[@]}" --no-deps -r .ci/requirements-alone.txt
} >&2 || {
  echo "python.sh: cannot install .ci/requirements*.txt (see above): tests that need these packages are skipped" >&2
  exit 0
}
cat .ci/requirements.txt .ci/requirements-alone.txt > "$stamp"
