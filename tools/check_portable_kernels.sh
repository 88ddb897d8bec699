#!/usr/bin/env bash
# Do the portable kernels become fused vector code where the processor has the instruction, as every ARM processor does? Compiles crate nn
# with AVX2 and FMA enabled for all of it and counts, in the portable matrix product, fused multiply-adds on whole registers,
# those on single numbers, and calls of a function for them.
set -euo pipefail
cd "$(dirname "$0")/.."
target=target/portable
cargo rustc --quiet --release -p sane-nn --lib --target-dir $target -- -C target-feature=+avx2,+fma -C codegen-units=1 --emit asm
assembly=$(ls -t $target/release/deps/sane_nn-*.s | head -1)
python3 - "$assembly" <<'PYTHON'
import re
import sys

counts, name = {}, None
for line in open(sys.argv[1], encoding="utf-8", errors="replace"):
    label = re.match(r"(_R?ZN?\S*|_R\S+):", line)
    if label:
        name = label.group(1)
    elif name and "portable" in name:
        kind = "vector" if re.search(r"\bvfn?m(add|sub)\w*ps\b", line) else "single" if re.search(r"\bvfn?m(add|sub)\w*ss\b", line) else "call" if re.search(r"call.*\bfmaf?\b", line) else None
        if kind:
            counts.setdefault(name, {"vector": 0, "single": 0, "call": 0})[kind] += 1
if not counts:
    sys.exit("no portable kernel with a fused multiply-add was found in the assembly")
total = {kind: sum(count[kind] for count in counts.values()) for kind in ("vector", "single", "call")}
print(f"{len(counts)} portable kernels: {total['vector']} fused multiply-adds on whole registers, {total['single']} on single numbers, {total['call']} calls")
if total["call"] or total["vector"] < 10 * total["single"]:
    for name, count in sorted(counts.items()):
        print(f"  {name}: {count}")
    sys.exit("the portable kernels do not vectorise")
PYTHON
