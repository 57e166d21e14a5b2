#!/usr/bin/env bash
# The experiment @NAME@ on a Slurm cluster. Run this on the login node, with
# privbandits on the PATH, in a folder that all nodes share (for results/):
#   bash @NAME@.sh         an array of shards, then a job that merges them
#   bash @NAME@.sh dask    one job: a Dask scheduler, its workers, the run
# Either can be submitted again, and continues where it stopped.
set -euo pipefail

tasks=8          # shards, or Dask workers
cpus=4           # of each
memory=2G        # for each cpu
time=02:00:00
options=()       # more options of sbatch: (--partition=cpu --account=mine)

export tasks cpus

submit() {
    sbatch --parsable --cpus-per-task="$cpus" --mem-per-cpu="$memory" \
        --time="$time" ${options[@]+"${options[@]}"} "$@"
}

case "${1:-shards}" in
shards)
    array=$(submit --job-name=@NAME@ --array="1-$tasks" --requeue <<'JOB'
#!/usr/bin/env bash
exec privbandits run @WORDS@ \
    --shard "$SLURM_ARRAY_TASK_ID/$tasks" --jobs "$cpus"
JOB
)
    merge=$(submit --job-name=@NAME@-merge --dependency="afterany:${array%%;*}" <<'JOB'
#!/usr/bin/env bash
exec privbandits merge@TRUST@ results/@NAME@-shard-*-of-"$tasks"
JOB
)
    echo "submitted: array $array of $tasks shards, then merge $merge"
    ;;
dask)
    job=$(submit --job-name=@NAME@-dask --ntasks="$tasks" <<'JOB'
#!/usr/bin/env bash
set -euo pipefail
trap 'kill $(jobs -p) 2> /dev/null' EXIT
port=$((10000 + SLURM_JOB_ID % 20000))  # below 32768, where the kernel's ephemeral ports begin
address="tcp://$(hostname):$port"
dask scheduler --port "$port" --no-dashboard &
srun --cpus-per-task="$cpus" \
    dask worker "$address" --nthreads "$cpus" --nworkers 1 --memory-limit 0 \
    --no-dashboard --death-timeout 120 &
privbandits run @WORDS@ \
    --engine dask --scheduler "$address"
JOB
)
    echo "submitted: $job"
    ;;
*)
    echo "give shards or dask, not $1" >&2
    exit 2
    ;;
esac
