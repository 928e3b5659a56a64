#!/usr/bin/env bash
# What `just gpu-check` runs on a card, by the programs beside it: bash gpu/check.sh BACKEND.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
backend=${1:-wgpu}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar -xf "$here/programs.tar.xz" -C "$work" || exit 1
cd "$work" || exit 1
privacy=()
case $backend in cuda* | rocm*) privacy=(--no-privacy) ;; esac
# A part that fails is counted, and the next one still runs: a card is not always at hand.
failed=""
part() {
    echo
    echo "== $*"
    local start=$SECONDS
    "$@" || failed+=" [$*]"
    echo "-- $((SECONDS - start)) s"
}
part ./sliver swae --backend list
# Kernels are compiled at their first use, on one core a process: the parts of the suite run beside each other.
export SLIVER_NEED=${backend%%:*}
portability() {
    local processes status
    processes=$(nproc | awk '{ print ($1 > 16) ? 8 : ($1 < 2) ? 1 : int($1 / 2) }')
    ./portability --list | sed -n 's/^\[\([a-z]*\)\].*/\1/p' | uniq > parts
    xargs -a parts -P "$processes" -I{} sh -c './portability "[{}]" > "{}.log" 2>&1'
    status=$?
    xargs -a parts -I{} cat {}.log
    return $status
}
part portability
part ./cost --backend "$backend" --only step --only device --only clipping
if python3 -c "import torch" 2>/dev/null; then
    part python3 "$here/sort.py"
else
    echo "no torch: sort.py is left out"
fi
part ./sliver swae glyphs --backend "$backend" --preset paper --steps 300 --quick-scores "${privacy[@]}" --out run
echo "all: $SECONDS s"
if [ -n "$failed" ]; then
    echo "failed:$failed" >&2
    exit 1
fi
