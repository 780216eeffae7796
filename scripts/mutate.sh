#!/usr/bin/env bash
# Tells which mistakes the tests of packages would not notice.
#
#   scripts/mutate.sh gate              150 mutants of one package
#   MUTANTS=400 scripts/mutate.sh gate skill
#
# Exit code 1: fewer than nine of ten mutants are killed. Those that survive stand with a
# reason in testdata/mutants.tsv of the package, or are marked in the output.
set -euo pipefail
cd "$(dirname "$0")/.."
tool=$(mktemp -d)
trap 'rm -rf "$tool"' EXIT
(cd tools && go build -o "$tool/mutate" ./mutate)
code=0
for dir in "${@:-gate}"; do
  "$tool/mutate" -max "${MUTANTS:-150}" "$dir" || code=1
done
exit "$code"
