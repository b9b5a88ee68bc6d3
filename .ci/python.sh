#!/usr/bin/env bash
# Python packages that tests use, in a virtual environment of this checkout. Without them those
# tests are skipped, and say so.
set -euo pipefail
cd "$(dirname "$0")/.."
stamp=build/python/requirements.txt
cmp -s .ci/requirements.txt "$stamp" && exit 0

mkdir -p build
{ python3 -m venv build/python &&
  build/python/bin/pip install -q --retries 1 --disable-pip-version-check -r .ci/requirements.txt
} >&2 || {
  echo "python.sh: cannot install .ci/requirements.txt (see above): tests that need it are skipped" >&2
  exit 0
}
cp .ci/requirements.txt "$stamp"
