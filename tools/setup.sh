#!/usr/bin/env bash
# Makes .venv and installs what Penstock and its tests need.  `make setup` calls it.
#
# The stamp in .venv is written last and removed first, so a .venv with a stamp is complete.  Its
# first line says which Python made it, its second what was asked for: with another Python .venv is
# made anew, with other requirements it is brought up to date, and otherwise nothing is done.
# Debian packages are looked for every time, which takes a few milliseconds.
#
# The sources of Ryu are fetched into .cache, for its own apps: Ryu itself does not install on today's
# Pythons, and even to look at it pip needs an old setuptools, which is put into a temporary folder.
# Faucet, which live runs are tested with, gets a virtual environment of its own there, since it wants
# another os-ken.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

oldest_python="3.11"
package_list="tools/debian-packages.txt"
stamp=".venv/.penstock-setup"
ryu="ryu-4.34"
faucet="faucet-1.10.12"

say() { printf 'setup: %s\n' "$*" >&2; }
stop() {
    say "$*"
    exit 1
}
# A part that only some tests need: people go without it, in CI nothing may be missing.
do_without() {
    if [[ "${CI:-}" == true || "${CI:-}" == 1 ]]; then stop "$*"; fi
    say "$*"
}

# A second run waits for the first, then finds its work done.
if command -v flock >/dev/null; then
    exec 9<tools/setup.sh
    flock 9
fi

is_recent() {
    "$1" -c "import sys; sys.exit(sys.version_info < (${oldest_python/./, }))" 2>/dev/null
}

choose_python() {
    if [[ -n "${PYTHON:-}" ]]; then
        is_recent "$PYTHON" || stop "PYTHON=$PYTHON does not run Python $oldest_python or newer: name one that does."
        python="$PYTHON"
        return
    fi
    for python in python3.11 python3 python3.12 python3.13 python3.14; do
        if is_recent "$python"; then return; fi
    done
    stop "Penstock needs Python $oldest_python or newer: install it, or run make setup PYTHON=/path/to/python3."
}

has_program() {
    PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin" command -v "$1" >/dev/null
}

missing_packages() {
    local package program
    while read -r package program; do
        has_program "$program" || echo "$package"
    done < <(grep -v '^#' "$package_list")
    "$python" -c 'import ensurepip' 2>/dev/null ||
        "$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])'
}

install_packages() {
    local missing
    missing="$(missing_packages | xargs)"
    if [[ -z "$missing" ]]; then return; fi
    if [[ "$(id -u)" != 0 ]] || ! command -v apt-get >/dev/null; then
        say "missing packages, whose tests will be skipped; on Debian: sudo apt-get install $missing"
        return
    fi
    say "installing the Debian packages $missing"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update --quiet=2 </dev/null || say "apt-get update failed; trying with the lists there are"
    # shellcheck disable=SC2086
    apt-get install --quiet=2 --yes --no-install-recommends -o DPkg::Lock::Timeout=300 $missing </dev/null >&2 ||
        say "apt-get reported a failure, as it does when a package's service cannot start"
    # A service that did not start does no harm: Penstock runs private instances of its own.
    missing="$(missing_packages | xargs)"
    if [[ -n "$missing" ]]; then stop "these Debian packages could not be installed: $missing"; fi
}

make_venv() {
    local made_by asked_for
    made_by="$("$python" -c 'import sys; print(sys.version.split()[0], sys.base_prefix)') in $PWD"
    asked_for="$(cat pyproject.toml tools/setup.sh | cksum)"
    if [[ -f "$stamp" && "$(<"$stamp")" == "$made_by"$'\n'"$asked_for" ]]; then return; fi
    if [[ -f "$stamp" && "$(head -n 1 "$stamp")" == "$made_by" ]]; then
        say "bringing .venv up to date"
        rm "$stamp"
    else
        say "making .venv with Python $made_by"
        rm -rf .venv
        if ! "$python" -m venv .venv; then
            rm -rf .venv
            stop ".venv could not be made: see what Python says above."
        fi
    fi
    .venv/bin/python -m pip install --quiet --no-input --disable-pip-version-check --editable '.[dev]' ||
        stop "the Python packages could not be installed: see what pip says above."
    printf '%s\n%s\n' "$made_by" "$asked_for" >"$stamp"
}

fetch_ryu() {
    local work pip=(.venv/bin/python -m pip --quiet --no-input --disable-pip-version-check)
    if [[ -f ".cache/$ryu/ryu/app/simple_switch_13.py" ]]; then return; fi
    say "fetching the sources of $ryu"
    mkdir -p .cache
    work="$(mktemp -d "$PWD/.cache/fetching.XXXXXX")"
    if "${pip[@]}" install --target "$work/build" 'setuptools<58' wheel >"$work/log" 2>&1 &&
        PYTHONPATH="$work/build" "${pip[@]}" download --no-deps --no-build-isolation --no-binary :all: \
            --dest "$work" "${ryu/-/==}" >>"$work/log" 2>&1 &&
        tar --no-same-owner -xzf "$work/$ryu.tar.gz" -C "$work"; then
        rm -rf ".cache/$ryu"
        mv "$work/$ryu" ".cache/$ryu"
    else
        tail -n 3 "$work/log" >&2
        rm -rf "$work"
        do_without "the sources of $ryu could not be fetched, so what runs Ryu's own apps (ryu.app.*) is missing:" \
            "unpack $ryu.tar.gz from PyPI into .cache/$ryu, or run make setup again."
    fi
    rm -rf "$work"
}

install_faucet() {
    local home=".cache/$faucet"
    if [[ -f "$home/.penstock-setup" ]]; then return; fi
    say "installing $faucet into an environment of its own, which takes about a minute"
    rm -rf "$home"
    mkdir -p "$home"
    if "$python" -m venv "$home" >"$home.log" 2>&1 &&
        "$home/bin/python" -m pip install --quiet --no-input --disable-pip-version-check \
            "${faucet/-/==}" >>"$home.log" 2>&1; then
        touch "$home/.penstock-setup"
        rm "$home.log"
    else
        tail -n 3 "$home.log" >&2
        rm -rf "$home" "$home.log"
        do_without "$faucet could not be installed, so live runs with it are not tested: run make setup again."
    fi
}

choose_python
install_packages
make_venv
fetch_ryu
install_faucet
