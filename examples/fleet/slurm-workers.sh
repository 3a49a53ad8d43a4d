#!/bin/sh
# Slurm: sbatch slurm-workers.sh, and `wavewright test --queue tests` anywhere. WAVEWRIGHT_QUEUE names the queue, and is passed on.
# A minute before its time is up a worker gives back what it runs; a task that is preempted comes back.
#SBATCH --job-name=wavewright-workers
#SBATCH --array=1-64%32
#SBATCH --requeue
#SBATCH --signal=B:TERM@60
#SBATCH --cpus-per-task=4
#SBATCH --mem=8G
set -eu
# As the process of the task itself it is the one that the signal reaches.
exec npx wavewright worker --jobs="${SLURM_CPUS_PER_TASK:-4}" --idle-exit=120 --drain=30
