#!/bin/sh
# Slurm: sbatch --wait slurm-array.sh && npx wavewright merge r*.jsonl
# A task that is lost runs again (--requeue) and writes its report anew.
#SBATCH --job-name=wavewright
#SBATCH --array=1-64%32
#SBATCH --requeue
#SBATCH --cpus-per-task=4
#SBATCH --mem=8G
set -eu
status=0
npx wavewright test --jobs="${SLURM_CPUS_PER_TASK:-4}" --shard=auto --report="r$SLURM_ARRAY_TASK_ID.jsonl" tests || status=$?
# A test that failed is in the report: only what kept the part from running fails the task.
[ "$status" -le 1 ]
