#!/usr/bin/env bash
# Runs the bars of installs in their full form and prints a line for each: what was tried
# and how long it took. Exit code 1 when one is missed.
#
#   scripts/bars.sh [R01 R02 …]     default all
set -uo pipefail
cd "$(dirname "$0")/.."
bars=("$@")
[ $# -gt 0 ] || bars=(R01 R02 R03 R04 R05)
status=0
run() { # BAR PACKAGE TESTS
  local out began=$SECONDS
  if out=$(DEFT_TEST_FULL=1 go test "$2" -run "$3" -count=1 -timeout 40m -v 2>&1); then
    echo "$1 pass $2: $(grep -oE "R0[1-5](, R0[1-5])? [0-9].*" <<<"$out" | paste -sd ';' -) ($((SECONDS - began)) s)"
  else
    status=1
    grep -E '^ +[a-z_]+\.go:|^panic' <<<"$out" | head -40
    echo "$1 FAIL $2 ($((SECONDS - began)) s)"
  fi
}
for bar in "${bars[@]}"; do
  case $bar in
  R01) run R01 ./cmd/deft TestR01KilledInstalls ;;
  R02) run R02 ./install 'TestR01R02|TestAnInterrupted' && run R02 ./cmd/deft TestR02ReadOnlyTargets ;;
  R03) run R03 ./internal/atomicfile TestR03 && run R03 ./install TestR03 ;;
  R04) run R04 ./install 'TestR04|TestARemovalTouchesNothingForeign' ;;
  R05) run R05 ./cmd/deft TestR05Mixed ;;
  *) echo "$bar: not one of R01 to R05" >&2; exit 2 ;;
  esac
done
exit $status
