#!/bin/sh
# kubectl quotree: at its first call it makes an environment of its own for the Python application next to it, from exactly
# the packages that runtime.lock names; then it runs there. QUOTREE_PYTHON names another Python than python3.
set -eu
here=$(dirname "$(readlink -f "$0")")
python=${QUOTREE_PYTHON:-python3}
minor=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2] if sys.version_info >= (3, 11) else "")') || minor=""
if [ -z "$minor" ]; then
    echo "quotree: $python is not Python 3.11 or later: install it, or name another with QUOTREE_PYTHON" >&2
    exit 2
fi
wheel=$(ls "$here"/quotree-*.whl)
home=${XDG_CACHE_HOME:-$HOME/.cache}/quotree/$(basename "$wheel" .whl)-python$minor
if [ ! -e "$home/complete" ]; then
    echo "quotree: installing its packages into $home, once" >&2
    "$python" -m venv --clear "$home"
    "$home/bin/pip" --disable-pip-version-check --quiet install --require-hashes -r "$here/runtime.lock" >&2
    "$home/bin/pip" --disable-pip-version-check --quiet install --no-deps "$wheel" >&2
    : >"$home/complete"
fi
exec "$home/bin/kubectl-quotree" "$@"
