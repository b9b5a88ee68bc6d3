#!/usr/bin/env bash
# Renders the documentation as a web site: docs/site.sh [--serve]
#
# The site is build/site/html; open index.html in it, or give --serve and open http://127.0.0.1:8000.
# MkDocs Material comes from PyPI, into a virtual environment of this checkout (build/site/venv).
set -euo pipefail
case ${1-} in
  '' | --serve) ;;
  *)
    echo "usage: docs/site.sh [--serve]" >&2
    exit 2
    ;;
esac
cd "$(dirname "$0")/.."
site=build/site
stamp=$site/venv/requirements.txt
if ! cmp -s .ci/requirements-site.txt "$stamp"; then
  python3 -m venv "$site/venv"
  "$site/venv/bin/pip" install -q --retries 1 --disable-pip-version-check -r .ci/requirements-site.txt
  cp .ci/requirements-site.txt "$stamp"
fi
python3 docs/site_pages.py "$site"
export NO_MKDOCS_2_WARNING=1
if [ "${1-}" = --serve ]; then
  exec "$site/venv/bin/mkdocs" serve -f "$site/mkdocs.yml"
fi
if ! "$site/venv/bin/mkdocs" build --strict -f "$site/mkdocs.yml" >"$site/log" 2>&1; then
  cat "$site/log" >&2
  exit 1
fi
echo "The site is $site/html/index.html"
