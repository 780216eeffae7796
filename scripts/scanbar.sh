#!/usr/bin/env bash
# What the scanner finds of a labelled set, by hardness and class, and what it says of skills
# that harm nobody: counts, shares, and the bars. Exit code 1 below a bar.
# DEFT_TESTDATA is the folder that holds security/dev and corpus.
set -euo pipefail
cd "$(dirname "$0")/.."
: "${DEFT_TESTDATA:?names the folder of the labelled set}"
out=$(mktemp)
trap 'rm -f "$out"' EXIT
status=0
go test ./install/scan -run 'R14|TestStructure' -count=1 -v >"$out" 2>&1 || status=1
# For benign classes the share is of those with a finding that blocks.
sed -n -E '/%/s/^ *bars_test\.go:[0-9]+: //p; /^[^ ]*(FAIL|panic)/p; /build failed/p' "$out"
grep -q '^--- PASS: TestStructure' "$out" && echo 'structural shapes                            all found' || status=1
grep -q '^ok' "$out" || status=1
if [ "$status" = 0 ]; then echo "every bar is held"; else echo "below a bar"; fi
exit "$status"
