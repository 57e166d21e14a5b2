#!/usr/bin/env bash
# The experiment EXPERIMENT on a Slurm cluster. On the login node, with privbandits on the PATH, in a folder that all
# nodes see (results/ will be in it):
#   bash THIS          submits an array of shards, and a job that merges them
#   bash THIS dask     submits one job: a Dask scheduler, its workers, and the run
# Submitted again, either goes on where it stopped.
set -euo pipefail

tasks=8            # shards, or Dask workers
cpus=4             # of each
memory=2G          # for each cpu
time=02:00:00
options=()         # further options of sbatch: (--partition=cpu --account=mine)

common=(--parsable --cpus-per-task="$cpus" --mem-per-cpu="$memory" --time="$time" ${options[@]+"${options[@]}"})
export tasks cpus
export NUMBA_CACHE_DIR="${NUMBA_CACHE_DIR:-/tmp/privbandits-numba-$(id -u)}"  # compiled kernels, on each node's own disk

case "${1:-shards}" in
shards)
    array=$(sbatch "${common[@]}" --job-name=EXPERIMENT --array="1-$tasks" --requeue <<'JOB'
#!/usr/bin/env bash
exec privbandits run CONFIG --shard "$SLURM_ARRAY_TASK_ID/$tasks" --jobs "$cpus"
JOB
)
    merge=$(sbatch "${common[@]}" --job-name=EXPERIMENT-merge --dependency="afterany:${array%%;*}" <<'JOB'
#!/usr/bin/env bash
exec privbandits merge results/EXPERIMENT-shard-*-of-"$tasks"
JOB
)
    echo "submitted: array $array of $tasks shards, then merge $merge"
    ;;
dask)
    job=$(sbatch "${common[@]}" --job-name=EXPERIMENT-dask --ntasks="$tasks" <<'JOB'
#!/usr/bin/env bash
set -euo pipefail
trap 'kill $(jobs -p) 2> /dev/null' EXIT
address="tcp://$(hostname):$((20000 + SLURM_JOB_ID % 20000))"
dask scheduler --port "${address##*:}" --no-dashboard &
srun dask worker "$address" --nthreads "$cpus" --nworkers 1 --memory-limit 0 --no-dashboard --death-timeout 120 &
privbandits run CONFIG --engine dask --scheduler "$address"
JOB
)
    echo "submitted: $job"
    ;;
*)
    echo "shards or dask, not $1" >&2
    exit 2
    ;;
esac
