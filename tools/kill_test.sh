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

train=("$sane" --quiet train "$world" --agent "$agent" --steps "${STEPS:-40000}"
  --set replay.capacity=5000 --set training.learning_starts=500 --set training.train_period=4
  --set record.interval=2000 --set record.checkpoint_interval=500)

start=$SECONDS
"${train[@]}" --out "$folder/straight" --threads 1
echo "uninterrupted: $((SECONDS - start)) s"
survived=0
while [ "$survived" -lt "$kills" ]; do
  "${train[@]}" --out "$folder/killed" --threads $((1 + survived % 2)) &
  process=$!
  sleep "0.$(printf '%03d' $((RANDOM % 250 + 5)))"
  if kill -9 "$process" 2>/dev/null; then survived=$((survived + 1)); fi
  if wait "$process" 2>/dev/null; then
    echo "the run ended after $survived kills; give it more STEPS" >&2
    exit 1
  fi
done
"${train[@]}" --out "$folder/killed" --threads 2
one=$("$sane" runs hash "$folder/straight") other=$("$sane" runs hash "$folder/killed")
echo "$one  uninterrupted"
echo "$other  killed $survived times"
[ "$one" = "$other" ] && cmp "$folder/straight/events.jsonl" "$folder/killed/events.jsonl"
echo "$agent on $world: the same state and the same events after $survived kills, $((SECONDS - start)) s"
