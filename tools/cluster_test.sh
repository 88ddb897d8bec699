#!/usr/bin/env bash
# Runs suites/quick.toml on a cluster of its own on this machine, loses a node in the middle, and compares every run with a
# local one: the digests of their whole states must be the same. Everything is torn down at the end.
#
#   tools/cluster_test.sh slurm        three nodes on loopback; as root, with Debian's slurm-wlm and munge installed
#   tools/cluster_test.sh ray          two nodes on loopback; needs `pip install 'ray[default]'` ($RAY_SITE: its --target)
#
# Needs a built `sane` (cargo build --release) or $SANE; $SUITE names another suite.
set -euo pipefail
cd "$(dirname "$0")/.."
engine=${1:?slurm or ray}
sane=$(realpath "${SANE:-${CARGO_TARGET_DIR:-target}/release/sane}")
suite=$(realpath "${SUITE:-suites/quick.toml}")
work=$(mktemp -d /tmp/sane-cluster.XXXXXX)
start=$SECONDS
started=()
say() { printf '%3d s  %s\n' $((SECONDS - start)) "$*"; }

finish() {
  code=$?
  set +e
  [ "$engine" = slurm ] && slurm_down
  [ "$engine" = ray ] && ray_down
  for process in "${started[@]}"; do kill "$process" 2>/dev/null; done
  [ "$code" = 0 ] && rm -rf "$work" || echo "failed with $code; logs are in $work" >&2
}
trap finish EXIT

# Processes whose environment says that they belong to a node.
of_node() { grep -lsz "^SLURMD_NODENAME=$1\$" /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3 || true; }

slurm_up() {
  local d=$work/slurm host; host=$(hostname)
  mkdir -p "$d"/{state,spool,log,run} && chmod 755 "$work" "$d"
  cat > "$d/slurm.conf" <<CONF
ClusterName=ci
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CryptoType=crypto/munge
AuthInfo=socket=$d/munge.sock
SlurmctldPort=16817
SlurmdPort=16818
StateSaveLocation=$d/state
SlurmdSpoolDir=$d/spool/%n
SlurmctldPidFile=$d/run/slurmctld.pid
SlurmdPidFile=$d/run/slurmd-%n.pid
SlurmctldLogFile=$d/log/slurmctld.log
SlurmdLogFile=$d/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
MpiDefault=none
SwitchType=switch/none
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
ReturnToService=2
JobRequeue=1
MaxArraySize=1001
MinJobAge=86400
SlurmdTimeout=15
SlurmctldTimeout=30
KillWait=30
SlurmdParameters=config_overrides
NodeName=n[1-3] NodeHostname=$host NodeAddr=127.0.0.1 Port=17001-17003 CPUs=1 RealMemory=2000 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
  export SLURM_CONF=$d/slurm.conf
  head -c 1024 /dev/urandom > "$d/munge.key" && chmod 400 "$d/munge.key"
  munged --key-file="$d/munge.key" --socket="$d/munge.sock" --pid-file="$d/run/munged.pid" \
    --log-file="$d/log/munged.log" --seed-file="$d/munge.seed" --force
  slurmctld
  for node in n1 n2 n3; do slurmd -N "$node"; done
  for _ in $(seq 100); do
    [ "$(sinfo -h -o %t -N | grep -c idle)" = 3 ] && return
    sleep 0.2
  done
  sinfo; echo "the nodes did not come up" >&2; return 1
}

slurm_down() {
  scancel --me 2>/dev/null; sleep 1
  for node in n1 n2 n3; do
    for process in $(of_node "$node"); do kill -9 "$process" 2>/dev/null; done
  done
  for file in "$work"/slurm/run/{slurmd-n1,slurmd-n2,slurmd-n3,slurmctld,munged}.pid; do
    [ -f "$file" ] && kill "$(cat "$file")" 2>/dev/null
  done
  sleep 1
}

# A node is lost: its daemon and all it started are gone at once.
lose_slurm_node() {
  local processes; processes=$(of_node "$1")
  kill -9 "$(cat "$work/slurm/run/slurmd-$1.pid")"
  # The parents first: they would report the end of their jobs, which a lost node cannot.
  for process in $(ps -o ppid= -p $processes | sort -u); do
    if [ "$(cat "/proc/$process/comm" 2>/dev/null)" = slurmstepd ]; then kill -9 "$process"; fi
  done
  for process in $processes; do kill -9 "$process" 2>/dev/null || true; done
}

on_slurm() {
  slurm_up; say "Slurm is up: 3 nodes"
  "$sane" suite run "$suite" --on slurm --out "$work/cluster"
  local run=
  until [ "$run" ]; do
    sleep 0.2
    # A run on the second node that has saved a checkpoint.
    for log in "$work"/cluster/slurm/*.log; do
      local task; task=$(basename "$log" .log)
      squeue -h -j "${task%_*}" -t RUNNING -w n2 -o %K 2>/dev/null | grep -qx "${task#*_}" || continue
      local name; name=$(sed -n 's/: training$//p' "$log" | tail -n 1)
      [ "$name" ] && compgen -G "$work/cluster/runs/$name/checkpoints/checkpoint-*[1-9]*.toml" >/dev/null && run=$name
    done
  done
  lose_slurm_node n2; say "node n2 is lost, with $run"
  until squeue -h -t PENDING -r -o '%K %r' | grep -q BeginTime; do sleep 0.5; done
  say "Slurm has queued its run again"
  # Slurm holds such a job back for two minutes; a test need not wait.
  for job in $(squeue -h -t PENDING -r -o '%i %r' | sed -n 's/ BeginTime//p'); do scontrol update jobid="$job" StartTime=now; done
  "$sane" suite run "$suite" --on slurm --wait --out "$work/cluster"
  say "the suite is done"
  starts=$(grep -c process_started "$work/cluster/runs/$run/timings.jsonl")
  [ 2 -le "$starts" ] || { echo "$run was started $starts times" >&2; exit 1; }
}

ray_up() {
  export PYTHONPATH=${RAY_SITE:-} PATH=${RAY_SITE:+$RAY_SITE/bin:}$PATH RAY_DISABLE_DOCKER_CPU_WARNING=1
  ray start --head --node-ip-address=127.0.0.1 --port=26379 --num-cpus=1 --memory=2000000000 \
    --object-store-memory=100000000 --include-dashboard=false --temp-dir="$work/ray" >"$work/ray-head.log" 2>&1
  local before; before=$(pgrep -x raylet | sort)
  ray start --address=127.0.0.1:26379 --num-cpus=1 --memory=2000000000 --object-store-memory=100000000 \
    >"$work/ray-node.log" 2>&1
  second=$(comm -13 <(echo "$before") <(pgrep -x raylet | sort) | head -n 1)
}

# A process and all below it.
family() {
  echo "$1"
  local child; for child in $(pgrep -P "$1" || true); do family "$child"; done
}

ray_down() { ray stop --force >/dev/null 2>&1; }

on_ray() {
  ray_up; say "Ray is up: 2 nodes"
  "$sane" suite run "$suite" --on ray --out "$work/cluster" &
  local submitted=$!
  started+=("$submitted")
  local child=
  until [ "$child" ]; do
    sleep 0.2
    # A job below the second node's raylet whose run has saved a checkpoint and still trains.
    for process in $(pgrep -f "suite task $work/cluster" || true); do
      local parent; parent=$(ps -o ppid= -p "$process" 2>/dev/null | tr -d ' ') || continue
      [ "$(ps -o ppid= -p "${parent:-1}" 2>/dev/null | tr -d ' ')" = "$second" ] || continue
      run=$(tr '\0' '\n' < "/proc/$process/cmdline" | sed -n '/^task$/{n;n;p;}')
      compgen -G "$work/cluster/runs/$run/checkpoints/checkpoint-*[1-9]*.toml" >/dev/null || continue
      grep -q process_stopped "$work/cluster/runs/$run/timings.jsonl" || child=$process
    done
  done
  # A node is lost: its daemon and all it started are gone at once.
  kill -9 $(family "$second") 2>/dev/null || true
  say "the second node is lost, with $run"
  wait "$submitted"
  say "the suite is done"
  starts=$(grep -c process_started "$work/cluster/runs/$run/timings.jsonl")
  [ 2 -le "$starts" ] || { echo "$run was started $starts times" >&2; exit 1; }
}

"$sane" --quiet suite run "$suite" --out "$work/local" >/dev/null; say "the local runs are done"
"on_$engine"

runs=0
while read -r folder; do
  run=${folder#"$work/local/runs/"}
  one=$("$sane" runs hash "$folder") other=$("$sane" runs hash "$work/cluster/runs/$run")
  [ "$one" = "$other" ] || { echo "$run: $one locally, $other on the cluster" >&2; exit 1; }
  cmp "$folder/events.jsonl" "$work/cluster/runs/$run/events.jsonl"
  # An evaluation that was interrupted between its two modes is made again.
  cmp <(sort -u "$folder/evaluations.jsonl") <(sort -u "$work/cluster/runs/$run/evaluations.jsonl")
  runs=$((runs + 1))
done < <(find "$work/local/runs" -name config.toml -printf '%h\n' | sort)
for place in local cluster; do "$sane" --quiet report "$work/$place" -o "$work/report-$place" >/dev/null; done
cmp "$work/report-local/scores.csv" "$work/report-cluster/scores.csv"
say "$runs runs on $engine, one of them on two nodes: the same digests, events, evaluations and scores as local ones"
