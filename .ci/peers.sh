#!/usr/bin/env bash
# Compares with other frameworks: `./check --peers`. The frameworks are installed into a virtual
# environment of this checkout, build/peers, from .ci/requirements-peers.txt.
set -euo pipefail
cd "$(dirname "$0")/.."
python=build/peers/bin/python3
stamp=build/peers/requirements.txt
if ! cmp -s .ci/requirements-peers.txt "$stamp"; then
  python3 -m venv build/peers
  build/peers/bin/pip install -q --disable-pip-version-check -r .ci/requirements-peers.txt
  cp .ci/requirements-peers.txt "$stamp"
fi
.ci/build.sh release --target penstock --target penstock-server
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PENSTOCK_BIN=build/release/bin $python tests/tensorflow/datasets.py compare "$work"
$python records/image/testing/make_expectations.py --compare
# Tests the Python package together with the frameworks.
export PENSTOCK_BIN=$PWD/build/release/bin PYTHONPATH=$PWD/client/python
export PENSTOCK_SAMPLE=$PWD/sample PENSTOCK_TEST_EXITS=20  # Each way to exit is tried 20 times.
for name in import_orders frameworks distributed docs loader slots exit; do
  echo "== python: $name"
  $python "client/python/tests/${name}_test.py"
done
