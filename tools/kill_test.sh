#!/usr/bin/env bash
# Kills a run (SIGKILL) 100 times at random moments, resumes it each time, and compares it with one never interrupted:
# the digest of its whole state and events.jsonl must be the same, byte for byte.
#
#   tools/kill_test.sh [AGENT] [KILLS] [WORLD]        needs a built `sane` (cargo build --release) or $SANE
set -euo pipefail
agent=${1:-q-sane} kills=${2:-100} world=${3:-minatar/breakout}
sane=${SANE:-${CARGO_TARGET_DIR:-target}/release/sane}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

train=("$sane" --quiet train "$world" --agent "$agent" --steps "${STEPS:-$((400 * kills))}"
  --set replay.capacity=5000 --set training.learning_starts=500 --set training.train_period=4
  --set record.interval=2000 --set record.checkpoint_interval=500)

# The killed run, now complete, against the other.
compare() {
  local one other
  one=$("$sane" runs hash "$folder/straight") other=$("$sane" runs hash "$folder/killed")
  echo "$one  uninterrupted"
  echo "$other  killed $survived times"
  if [ "$one" != "$other" ]; then
    echo "the states differ" >&2
    exit 1
  fi
  cmp "$folder/straight/events.jsonl" "$folder/killed/events.jsonl"
  "$sane" --quiet runs check "$folder/killed" >/dev/null
}

begin=$SECONDS start=$(date +%s%3N)
"${train[@]}" --out "$folder/straight" --threads 1
took=$(($(date +%s%3N) - start))
echo "uninterrupted: $took ms"
# Random moments up to this: the processes together live about as long as the uninterrupted run.
longest=$((took / kills + 100)) survived=0
while [ "$survived" -lt "$kills" ]; do
  "${train[@]}" --out "$folder/killed" --threads $((1 + survived % 2)) &
  process=$!
  moment=$((RANDOM % longest + 5))
  sleep "$((moment / 1000)).$(printf '%03d' $((moment % 1000)))"
  if kill -9 "$process" 2>/dev/null; then survived=$((survived + 1)); fi
  code=0
  wait "$process" 2>/dev/null || code=$?
  case $code in
    0) # It was faster than the kills: one more run for the rest of them.
      compare
      rm -rf "$folder/killed" ;;
    137) ;;
    *) echo "the run failed with exit code $code after $survived kills" >&2; exit 1 ;;
  esac
done
"${train[@]}" --out "$folder/killed" --threads 2
compare
echo "$agent on $world: the same state and the same events after $survived kills, $((SECONDS - begin)) s"
