#!/usr/bin/env bash
# Queues many firings while the processes that run them are killed, on PostgreSQL with
# three processes and on SQLite with two, and prints how they ended.
#
#   scripts/queue.sh [FIRINGS]     default 1000
set -eu
cd "$(dirname "$0")/.."
DEFT_TEST_FIRINGS="${1:-1000}" go test ./cmd/deft -run 'TestNoFiringIsLostOrRunTwice' -count=1 -timeout 30m -v |
	grep -E 'firings,|^(---|ok|FAIL)'
