"""`python -m dev.operators build NAME…` builds operators into the cache; without names all of them."""

import argparse
import sys

from dev.controlplane.errors import ControlPlaneError
from dev.controlplane.programs import binaries
from dev.operators import building, cert_manager, recipe


def main() -> int:
    by_name = {operator.name: operator for operator in (*recipe.ALL, *cert_manager.ALL)}
    parser = argparse.ArgumentParser(prog="python -m dev.operators", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    build = commands.add_parser("build", help="build operators from their Go modules, once")
    build.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(by_name)}; none: all")
    names = parser.parse_args().names or list(by_name)
    unknown = [name for name in names if name not in by_name]
    if unknown:
        parser.error(f"no operator is called {', '.join(unknown)}; there are {', '.join(by_name)}")
    try:
        programs = binaries.ensure(_say)
        for name in names:
            building.ensure(by_name[name], programs, _say)
    except ControlPlaneError as error:
        print(f"operators: {error}", file=sys.stderr)
        return 1
    return 0


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
