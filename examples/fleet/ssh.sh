#!/bin/sh
# Some machines over ssh, with the same checkout in the same place: ./ssh.sh HOST...
set -eu
count=$#
index=0
for host in "$@"; do
  index=$((index + 1))
  # The report comes back as the output, so that the machines need no common disk.
  ${SSH:-ssh} "$host" "cd '$PWD' && npx wavewright test --quiet --shard=$index/$count --report=/dev/fd/3 tests 3>&1 >/dev/null" >"r$index.jsonl" &
done
wait
npx wavewright merge r*.jsonl --junit=all.xml
