#!/bin/sh
# The folder's name cannot be in a module archive.
set -eu
cd "$(dirname "$0")"
d='tree/project/.claude/skills/a&b<c'
mkdir -p "$d"
printf -- '---\nname: obrien\ndescription: "O'"'"'Brien & Co"\n---\n\n# obrien\n\nDo the thing, then report.\n' > "$d/SKILL.md"
