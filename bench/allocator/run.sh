#!/bin/sh
# run.sh BUILD_DIR: the allocator and upstream's on the same cases, one after the other on this
# machine. BUILD_DIR is a build with the bench preset. Needs Go for upstream's side.
set -eu
build=$(realpath "${1:?usage: run.sh BUILD_DIR}")
root=$(realpath "$(dirname "$0")/../..")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$root/tests/upstream/allocator" && go build -o "$work/upstream" ./cmd/bench)
"$work/upstream" "$work/cases.jsonl" >"$work/theirs"
"$build/bench/allocator/allocator_bench" "$work/cases.jsonl" >"$work/ours"
awk -F'\t' '
  function show(ns) {
    if (ns >= 1e9) return sprintf("%.2f s", ns / 1e9)
    if (ns >= 1e6) return sprintf("%.2f ms", ns / 1e6)
    if (ns >= 1e3) return sprintf("%.2f us", ns / 1e3)
    return sprintf("%.0f ns", ns)
  }
  FNR == NR { cpu[$1] = $2; best[$1] = $3; outcome[$1] = $4; next }
  FNR == 1 {
    printf "| case | upstream, CPU | ours, CPU | times | upstream, best | ours, best | times | outcome | table built |\n"
    printf "|---|---|---|---|---|---|---|---|---|\n"
  }
  $1 in cpu {
    over = outcome[$1] == "over" ? "over " : ""
    same = over != "" || outcome[$1] == $4 ? $4 : "DIFFERENT: " outcome[$1] " / " $4
    printf "| %s | %s%s | %s | %s%.0f | %s%s | %s | %s%.0f | %s | %s |\n", $1, over, show(cpu[$1]), show($2), over, cpu[$1] / $2, over, show(best[$1]), show($3), over, best[$1] / $3, same, show($5)
    next
  }
  { printf "| %s | | %s | | | | | | |\n", $1, $1 ~ /bytes/ ? $2 : show($2) }
' "$work/theirs" "$work/ours"
