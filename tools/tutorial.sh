#!/usr/bin/env bash
# Follows docs/tutorial.md literally, on a clean checkout: sets it up, then writes the page's files and types its
# commands, and looks that the bug is found and the report is written.
#
#     tools/tutorial.sh [FOLDER]
#
# The checkout is made in FOLDER (by default a temporary one, which is removed afterwards) from the last commit
# of this repository.  PENSTOCK_VENV=/path/to/.venv uses an environment that is there instead of making one.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"

folder="${1:-}"
if [[ -z "$folder" ]]; then
    folder="$(mktemp -d)"
    trap 'rm -rf "$folder"' EXIT
fi
mkdir -p "$folder/reader"
git clone --quiet "$here" "$folder/penstock"
cd "$folder/penstock"

if [[ -n "${PENSTOCK_VENV:-}" ]]; then
    export PYTHONPATH="$PWD/src"
    python="$PENSTOCK_VENV/bin/python"
else
    make setup
    python="$PWD/.venv/bin/python"
fi

"$python" tools/follow_page.py docs/tutorial.md "$folder/reader"
cd "$folder/reader"
grep -q '"violated": "NoBlackHoles"' penstock-traces/my_switch-1.jsonl
grep -q '</html>' penstock-traces/my_switch-1.html
echo "tutorial: the bug was found and the report was written."
