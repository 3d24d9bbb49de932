#!/usr/bin/env bash
# Makes .venv hold exactly what requirements.lock says, once per content of the lock; `venv.sh PYTHON`, run at the root.
set -euo pipefail

python=$1
stamp=.venv/installed
wanted=$(cat requirements.lock pyproject.toml | sha256sum | cut -d' ' -f1)

fail() {
    echo "quotree: $1" >&2
    exit 1
}

if [ -x .venv/bin/python ] && [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then
    exit 0
fi

command -v "$python" >/dev/null || fail "no $python here: install Python 3.11 or later, or name one with make PYTHON=..."
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])') || fail "$python does not run"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "$python is Python $version, 3.11 or later is needed: install one, or name it with make PYTHON=..."
"$python" -c 'import ensurepip, venv' 2>/dev/null ||
    fail "$python ($version) has no venv: install it (Debian: apt install python3-venv), or name another with make PYTHON=..."

started=$SECONDS
echo "quotree: installing what requirements.lock says into .venv (Python $version)"
[ -x .venv/bin/python ] && [ -x .venv/bin/pip ] || "$python" -m venv --clear .venv
pip=(.venv/bin/python -m pip --disable-pip-version-check --quiet install)
"${pip[@]}" --require-hashes -r requirements.lock ||
    fail "requirements.lock could not be installed: see pip's words above; is the network there?"
"${pip[@]}" --no-deps --no-build-isolation -e . || fail "the project itself could not be installed: see pip's words above"
# Compiled once, so that commands start quickly also where Python is told to write no bytecode by itself.
.venv/bin/python -m compileall -q cli dashboard reconciler shared webhook
echo "$wanted" >"$stamp"
echo "quotree: .venv is ready ($((SECONDS - started)) s)"
