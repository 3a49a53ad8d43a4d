#!/bin/sh
# A worker on each of some machines, over ssh: ./ssh-workers.sh HOST... and `wavewright test --queue=redis://127.0.0.1 tests` here.
# The server listens on this machine alone: the tunnel (-R) leads to it.
set -eu
for host in "$@"; do
  ${SSH:-ssh -R 6379:localhost:6379} "$host" "cd '$PWD' && npx wavewright worker --queue=redis://127.0.0.1:${PORT:-6379} --idle-exit=120" &
done
wait
