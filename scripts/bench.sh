#!/usr/bin/env bash
# Runs the benchmarks whose figures stand in BENCHMARKS.md, each room in turn, then the
# side-by-side module. Usage: bash scripts/bench.sh [room…]. Nothing fails on time.
set -euo pipefail
cd "$(dirname "$0")/.."
rooms=("$@")
[ $# -gt 0 ] || rooms=(./skill ./source ./registry ./route ./search ./catalog ./session ./gate ./store ./install ./install/scan ./internal/cli . ./command/...)
go version
nproc
for room in "${rooms[@]}"; do
  go test -run '^$' -bench . -benchmem "$room"
done
(cd bench && go test -run '^$' -bench . -benchmem ./...)
