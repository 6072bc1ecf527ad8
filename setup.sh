#!/bin/sh
# Finds a Python, makes the environment, installs this checkout into it, and hands over to `memory-os setup`.
#
#   ./setup.sh [--hermes-home DIR] [--fabric-dir DIR] [--vault-path DIR] [--qdrant-url URL] [--redis-url URL]
#              [--python PATH] [--no-start] [--dry-run] [--uninstall [--purge]] [--yes] [--json]
#
# It never asks and may be run again at any time, after a killed run too.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)

say() { printf '%s\n' "$*" >&2; }
fail() { say "error: $*"; exit 1; }

# -- what was asked ----------------------------------------------------------------------------------------------

hermes_home=${HERMES_HOME:-$HOME/.hermes}
python=
command=setup
purge=
dry_run=
json=
expect=
servers=
for argument in "$@"; do
    case $expect in
        hermes-home) hermes_home=$argument; expect=; continue ;;
        python) python=$argument; expect=; continue ;;
        other) expect=; continue ;;
    esac
    case $argument in
        --hermes-home=*) hermes_home=${argument#*=} ;;
        --python=*) python=${argument#*=} ;;
        --hermes-home) expect=hermes-home ;;
        --python) expect=python ;;
        --qdrant-url) servers=yes; expect=other ;;
        --qdrant-url=*) servers=yes ;;
        --fabric-dir | --vault-path | --redis-url) expect=other ;;
        --fabric-dir=* | --vault-path=* | --redis-url=*) ;;
        --uninstall) command=uninstall ;;
        --purge) purge=yes ;;
        --dry-run) dry_run=yes ;;
        --json) json=yes ;;
        --no-start | --yes) ;;
        -h | --help) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 0 ;;
        *) fail "unknown option $argument (./setup.sh --help lists them)" ;;
    esac
done
[ -z "$expect" ] || fail "the last option needs a value"
[ -z "$purge" ] || [ "$command" = uninstall ] || fail "--purge goes with --uninstall"
case $hermes_home in
    "~") hermes_home=$HOME ;;
    "~/"*) hermes_home=$HOME/${hermes_home#"~/"} ;;
    /*) ;;
    *) hermes_home=$PWD/$hermes_home ;;
esac
export HERMES_HOME="$hermes_home"
home=${MEMORY_OS_HOME:-$hermes_home/memory-os}
venv=${MEMORY_OS_VENV:-$home/venv}

installed() { # is there anything that uninstall would undo? A memory that was kept is what --purge is for.
    for trace in "$hermes_home/plugins/memory-os" "$home/install.json" "$venv" ${purge:+"$home"}; do
        if [ -e "$trace" ] || [ -L "$trace" ]; then return 0; fi
    done
    return 1
}

if [ "$command" = uninstall ] && ! installed; then
    say "memory-os is not installed in $hermes_home: nothing to undo"
    [ -z "$json" ] || printf '{"steps": []}\n'
    exit 0
fi

# -- a Python ----------------------------------------------------------------------------------------------------

supported() {
    "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' >/dev/null 2>&1
}

find_python() {
    for name in python3.13 python3.12 python3.11 python3 python; do
        found=$(command -v "$name" 2>/dev/null) || continue
        if supported "$found"; then printf '%s\n' "$found"; return; fi
    done
    if command -v uv >/dev/null 2>&1; then
        for version in 3.13 3.12 3.11; do
            found=$(uv python find "$version" 2>/dev/null) || continue
            if supported "$found"; then printf '%s\n' "$found"; return; fi
        done
    fi
    return 1
}

if [ -n "$python" ]; then
    supported "$python" || fail "$python is not a Python 3.11, 3.12 or 3.13"
    base=$(command -v "$python")
else
    base=$(find_python) || fail "no Python 3.11, 3.12 or 3.13 found. Install one (Debian: apt install python3 python3-venv;
macOS: brew install python@3.13; anywhere: uv python install 3.13), or name it: ./setup.sh --python /path/to/python3"
fi

# -- the environment ---------------------------------------------------------------------------------------------

sound() { # can this environment install and run?
    [ -x "$venv/bin/python" ] && supported "$venv/bin/python" || return 1
    command -v uv >/dev/null 2>&1 || "$venv/bin/python" -m pip --version >/dev/null 2>&1
}

make_environment() {
    if [ -e "$venv" ]; then
        # A broken one is made anew, but only what is an environment of ours may be removed.
        [ -f "$venv/.memory-os-venv" ] || [ -e "$venv.building" ] || [ -f "$venv/pyvenv.cfg" ] ||
            [ -z "$(ls -A "$venv")" ] || fail "$venv is not an environment; move it, or set MEMORY_OS_VENV"
        say "making $venv anew: it is broken or half made"
        rm -rf "$venv"
    fi
    (umask 077 && mkdir -p "$(dirname -- "$venv")" && : >"$venv.building")
    if command -v uv >/dev/null 2>&1; then
        uv venv --quiet --python "$base" "$venv"
    else
        "$base" -m venv "$venv" ||
            fail "$base can't make environments. Debian and Ubuntu: apt install python3-venv. Or install uv."
    fi
    printf '%s\n' "$home" >"$venv/.memory-os-venv" # only this home's --uninstall may remove it
    rm -f "$venv.building"
}

names_a_qdrant_server() { # in config.yaml, by an earlier run
    [ -f "$home/config.yaml" ] || return 1
    while read -r key value || [ -n "$key" ]; do
        case "$key $value" in "qdrant_url: "http* | "qdrant_url: "[\"\']http*) return 0 ;; esac
    done <"$home/config.yaml"
    return 1
}

lock() { # which packages: with a Qdrant server its client too
    if [ -n "$servers" ] || names_a_qdrant_server; then
        printf requirements-server.lock
    else
        printf requirements.lock
    fi
}

install() {
    # Commands of this environment say "is being upgraded" while it stands and this process runs.
    printf '%s\n' $$ >"$venv/.upgrading"
    packages || { rm -f "$venv/.upgrading"; fail "the packages could not be installed; run ./setup.sh again"; }
    rm -f "$venv/.upgrading"
}

installed_is_this() { # file by file: then nothing has to be built, which wants the index, and a repair works without one
    [ -x "$venv/bin/memory-os" ] && "$venv/bin/python" -P - "$here" >/dev/null 2>&1 <<'PYTHON'
import sys
from pathlib import Path

import memory_os
import memory_os_workers


def files(folder, below=""):
    found = (path for path in Path(folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {below + str(path.relative_to(folder)): path.read_bytes() for path in found}


here = Path(sys.argv[1])
library = files(here / "layers/memory_os") | files(here / "plugins/memory_os", "plugin/")
same = files(Path(memory_os.__file__).parent) == library
sys.exit(not (same and files(Path(memory_os_workers.__file__).parent) == files(here / "workers/memory_os_workers")))
PYTHON
}

packages() { # in a condition the shell does not end at a failure by itself: each step says so
    if command -v uv >/dev/null 2>&1; then
        uv pip install --quiet --python "$venv/bin/python" --require-hashes -r "$here/$(lock)" || return 1
        installed_is_this ||
            uv pip install --quiet --python "$venv/bin/python" --no-deps --reinstall-package memory-os "$here"
    else
        "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes \
            -r "$here/$(lock)" || return 1
        installed_is_this ||
            "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall "$here"
    fi
}

# -- go ----------------------------------------------------------------------------------------------------------

# What this script has used up is not passed on: the home goes by HERMES_HOME.
count=$#
pending=
while [ "$count" -gt 0 ]; do
    argument=$1
    shift
    count=$((count - 1))
    if [ -n "$pending" ]; then
        [ "$pending" = drop ] || set -- "$@" "$pending=$argument"
        pending=
        continue
    fi
    case $argument in
        --uninstall | --python=* | --hermes-home=*) ;;
        --python | --hermes-home) pending=drop ;;
        --fabric-dir | --vault-path | --qdrant-url | --redis-url) pending=$argument ;;
        *) set -- "$@" "$argument" ;;
    esac
done

recorded_python() { # the one this home was set up with; MEMORY_OS_VENV may have been another then
    [ -f "$home/install.json" ] || return 1
    found=$(sed -n 's/^ *"python": "\(.*\)",\{0,1\}$/\1/p' "$home/install.json")
    [ -n "$found" ] && "$found" -P -c 'import memory_os_workers.setup.uninstall' >/dev/null 2>&1 && printf '%s\n' "$found"
}

size="about 400 MB on disk, from a package index"
if [ "$command" = uninstall ]; then
    [ -z "$dry_run" ] || say "Nothing is changed. ./setup.sh --uninstall would:"
    if [ -x "$venv/bin/memory-os" ] && { [ -n "$dry_run" ] || sound; }; then exec "$venv/bin/memory-os" uninstall "$@"; fi
    if found=$(recorded_python); then exec "$found" -P -m memory_os_workers.cli uninstall "$@"; fi
    if [ -n "$dry_run" ]; then
        say "  install memory-os into $venv first ($size): it is not there, and it knows what to undo in $hermes_home"
        exit 0
    fi
    say "$venv is missing or broken, and what it holds knows what to undo in $hermes_home. So it is made again first
($size), undoes the installation, and is removed again. Without an index this fails and changes nothing in $hermes_home."
fi
if [ -n "$dry_run" ]; then
    say "Nothing is changed. ./setup.sh would:"
    if sound; then say "  use the environment $venv"; else say "  make the environment $venv with $base"; fi
    say "  install memory-os from $here and the packages of $(lock) into it"
    exec "$base" "$here/workers/memory_os_workers/setup/plan.py" "$@"
fi

say "environment: $venv"
sound || make_environment
say "packages: installing (the first time takes a minute; $size)"
install
exec "$venv/bin/memory-os" "$command" "$@"
