#!/usr/bin/env bash
# Builds with a preset of CMake and tells how far it is: one line that changes on a terminal, elsewhere a line for every tenth.
# Usage: scripts/build.sh PRESET [TARGET…]
set -euo pipefail
preset=$1
shift
readonly MANY=50 # steps that are worth a word

mkdir -p build
cmake --preset "$preset" >build/configure.log 2>&1 || { cat build/configure.log; exit 1; }

# Of ninja's output: how far it is; the compiler's words as they are.
progress() {
  local line steps total tenth=-1 said="" terminal=""
  [ -t 1 ] && terminal=1
  while IFS= read -r line; do
    if [[ $line =~ ^\[([0-9]+)/([0-9]+)\]\ (.*) ]]; then
      [[ ${BASH_REMATCH[3]} == Re-* ]] && continue # of the build files
      steps=${BASH_REMATCH[1]} total=${BASH_REMATCH[2]}
      if [ -z "$said" ] && [ "$total" -ge "$MANY" ]; then
        echo "building $total files, about $(((total * 12 / 10 / JOBS + 59) / 60)) min on $JOBS cores (seconds with a warm ccache)"
      fi
      said=1
      if [ -n "$terminal" ]; then
        printf '\r\033[K[%d/%d]' "$steps" "$total"
      elif [ "$total" -ge "$MANY" ] && [ $((steps * 10 / total)) -gt "$tenth" ]; then
        tenth=$((steps * 10 / total))
        echo "[$steps/$total]"
      fi
    elif [[ $line != '-- '* && $line != 'ninja: no work'* && $line != 'ninja: Entering'* ]]; then
      [ -z "$terminal" ] || printf '\r\033[K'
      printf '%s\n' "$line"
    fi
  done
  [ -z "$terminal" ] || printf '\r\033[K'
}

JOBS=${JOBS:-$(nproc)}
NINJA_STATUS='[%f/%t] ' cmake --build "build/$preset" ${*:+--target "$@"} -j "$JOBS" 2>&1 | progress
