#!/usr/bin/env bash
# Makes .venv and installs into it what is needed:
#
#     tools/setup.sh demo     Penstock itself; `make demo` calls it
#     tools/setup.sh all      also what its tests, benchmarks and pages need; the other targets call it
#
# PYTHON names the Python to use.  The choice is noted in .venv before anything else, so that it outlives an
# interruption, and without PYTHON it stays: only another PYTHON, or one that is gone, has .venv made anew.
# The stamp is removed first and written last, so a .venv with a stamp is complete.  Its first line says which
# Python it is for and where it is, its second how much was installed and by which requirements: what is less
# or older is brought up to date, and otherwise nothing is done.  Programs are looked for every time.
#
# Faucet, which live runs are tested with, gets a virtual environment of its own in .cache, since it wants
# another os-ken.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

wanted="${1:-all}"
oldest_python="3.11"
choice=".venv/.penstock-python"
stamp=".venv/.penstock-setup"
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

# Stages: what takes its time is said before, while and after.

log="$(mktemp)"
ticker=""
end_stages() {
    if [[ -n "$ticker" ]]; then kill "$ticker" 2>/dev/null || true; fi
    rm -f "$log"
}
trap end_stages EXIT

# Shows every ten seconds, on a terminal every second, what the log says last.
tick() {
    local seconds=0 line
    while sleep 1 >/dev/null 2>&1 && kill -0 $$ 2>/dev/null; do
        seconds=$((seconds + 1))
        line="$({ grep -v WARNING "$log" || true; } | tail -n 1 | tr -d '\r' | cut -c 1-60)"
        if [[ -t 2 ]]; then
            printf '\r\033[Ksetup:   %d s  %s' "$seconds" "$line" >&2
        elif ((seconds % 10 == 0)); then
            say "  $seconds s  $line"
        fi
    done
}

# Runs a command as a stage; when it fails, the end of its output is shown.
stage() {
    local words="$1" begun="$SECONDS" status=0
    shift
    say "$words …"
    tick 9>&- &
    ticker=$!
    # Whatever a package starts must not hold the lock.
    "$@" >"$log" 2>&1 </dev/null 9>&- || status=$?
    kill "$ticker" 2>/dev/null || true
    wait "$ticker" 2>/dev/null || true
    ticker=""
    if [[ -t 2 ]]; then printf '\r\033[K' >&2; fi
    if [[ "$status" == 0 ]]; then
        say "  done in $((SECONDS - begun)) s"
    else
        { grep -v WARNING "$log" || true; } | tail -n 5 >&2
    fi
    return "$status"
}

# Python and its environment.

# Tells whether a command runs a Python from one version on, and perhaps up to another.
is_python() {
    "$1" -c "import sys; sys.exit(not (${2/./, }) <= sys.version_info[:2] <= (${3/./, }))" 2>/dev/null
}
is_recent() { is_python "$1" "$oldest_python" 3.99; }

# The Python that environments are made with, under one name however it was called.
base_of() {
    "$1" -c 'import os, sys; print(os.path.realpath(getattr(sys, "_base_executable", sys.executable)))'
}

# All Pythons of this machine: those on the PATH, then pyenv's.
pythons() {
    local name
    for name in python3 python3.13 python3.12 python3.11 python3.14; do command -v "$name" || true; done
    compgen -G "${PYENV_ROOT:-$HOME/.pyenv}/versions/*/bin/python" | sort -Vr || true
}

choose_python() {
    local candidate candidates
    if [[ -n "${PYTHON:-}" ]]; then
        is_recent "$PYTHON" || stop "PYTHON=$PYTHON does not run Python $oldest_python or newer: name one that does."
        python="$(base_of "$PYTHON")"
        return
    fi
    mapfile -t candidates < <(head -n 1 "$choice" 2>/dev/null || true; echo .venv/bin/python; pythons)
    for candidate in "${candidates[@]}"; do
        if is_recent "$candidate"; then
            python="$(base_of "$candidate")"
            return
        fi
    done
    stop "Penstock needs Python $oldest_python or newer: install it, or run make setup PYTHON=/path/to/python3."
}

note_choice() { printf '%s\n%s\n' "$python" "$PWD" >"$choice"; }

# Makes .venv unless there is one of that Python, here, in which pip works.
make_venv() {
    local venv_package
    if [[ "$(base_of .venv/bin/python 2>/dev/null)" == "$python" ]] &&
        [[ ! -f "$choice" || "$(<"$choice")" == "$python"$'\n'"$PWD" ]] &&
        .venv/bin/python -m pip --version >/dev/null 2>&1; then
        note_choice
        return
    fi
    if ! "$python" -c 'import ensurepip' 2>/dev/null; then
        venv_package="$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')"
        install_debian "$venv_package" || stop "$python cannot make a virtual environment: install $venv_package."
    fi
    rm -rf .venv
    mkdir .venv
    note_choice
    stage "making .venv with $("$python" --version), $python" "$python" -m venv .venv ||
        stop ".venv could not be made: see what Python says above."
}

pip_install() {
    "$1" -m pip install --no-input --disable-pip-version-check --progress-bar off "${@:2}"
}

install_penstock() {
    local made_for="$python in $PWD" requirements level what="." words="what it needs"
    requirements="$(cat pyproject.toml tools/setup.sh | cksum)"
    for level in "$wanted" all; do
        if [[ -f "$stamp" && "$(<"$stamp")" == "$made_for"$'\n'"$level $requirements" ]] &&
            is_recent .venv/bin/python; then
            return
        fi
    done
    rm -f "$stamp"
    make_venv
    if [[ "$wanted" == all ]]; then what=".[dev]" words="what its tests and pages need"; fi
    stage "installing Penstock and $words into .venv" pip_install .venv/bin/python --editable "$what" ||
        stop "the Python packages could not be installed: see what pip says above."
    if [[ "$wanted" == demo ]]; then fetch_ryu || say "  so the demo uses Penstock's own learning switch"; fi
    printf '%s\n%s %s\n' "$made_for" "$wanted" "$requirements" >"$stamp"
}

# Programs.

install_debian() {
    if [[ "$(id -u)" != 0 ]] || ! command -v apt-get >/dev/null; then
        say "missing packages; on Debian: sudo apt-get install $*"
        return 1
    fi
    stage "installing the Debian packages $*" apt_install "$@"
}

apt_install() {
    export DEBIAN_FRONTEND=noninteractive
    apt-get update --quiet=2 || echo "apt-get update failed; trying with the lists there are"
    apt-get install --quiet=2 --yes --no-install-recommends -o DPkg::Lock::Timeout=300 "$@"
}

install_programs() {
    local missing
    missing="$(.venv/bin/python tools/missing_packages.py)"
    if [[ -z "$missing" ]]; then return; fi
    # A service that did not start does no harm: Penstock runs private instances of its own.
    # shellcheck disable=SC2086
    install_debian $missing || say "  tests that need what is missing are skipped, in CI they fail"
    if [[ "$(id -u)" == 0 ]] && command -v apt-get >/dev/null; then
        missing="$(.venv/bin/python tools/missing_packages.py)"
        if [[ -n "$missing" ]]; then stop "these Debian packages could not be installed: $missing"; fi
    fi
}

# Other people's controllers.

fetch_ryu() {
    stage "fetching the sources of Ryu, for its own apps" .venv/bin/penstock fetch-ryu
}

# A Python of the versions that Faucet was released for, if there is another one than that of .venv.
faucets_python() {
    local candidate
    while read -r candidate; do
        if is_python "$candidate" 3.8 3.11 && [[ "$(base_of "$candidate")" != "$python" ]] &&
            "$candidate" -c 'import ensurepip' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done < <(pythons)
}

make_faucet() {
    rm -rf ".cache/$faucet"
    "$1" -m venv ".cache/$faucet" &&
        pip_install ".cache/$faucet/bin/python" "${faucet/-/==}" &&
        ".cache/$faucet/bin/osken-manager" --version &&
        touch ".cache/$faucet/.penstock-setup"
}

install_faucet() {
    local candidate
    if [[ -f ".cache/$faucet/.penstock-setup" ]] && ".cache/$faucet/bin/python" -c '' 2>/dev/null; then return; fi
    # Faucet need not run on the Python of .venv: where that is too new for it, an older one may do.
    for candidate in "$python" "$(faucets_python)"; do
        if [[ -z "$candidate" ]]; then continue; fi
        if stage "installing $faucet into an environment of its own, with $candidate" make_faucet "$candidate"; then
            return
        fi
    done
    rm -rf ".cache/$faucet"
    do_without "$faucet could not be installed, so live runs with it are not tested:" \
        "see what pip says above, install Python 3.11 beside this one if it is too new for Faucet, and run make setup again."
}

choose_python
install_penstock
if [[ "$wanted" == all ]]; then
    install_programs
    [[ -f .cache/ryu-4.34/ryu/app/simple_switch_13.py ]] || fetch_ryu ||
        do_without "so what runs Ryu's own apps (ryu.app.*) is not tested"
    install_faucet
fi
