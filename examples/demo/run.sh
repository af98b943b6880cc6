#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: examples/demo/run.sh [PICTURE]     (./dev demo calls it, with everything installed that it needs)
# Converts two trained networks of the package rapidocr and reads the text of a picture with them: by default of a photographed page.
set -eu
cd "$(dirname "$0")/../.."
export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
fetch() { build/venv/bin/python scripts/fetch_models.py --package "$1" --member "$2" --to "demo/$3" --sha256 "$4" >&2; }

picture=${1:-}
if [ -n "$picture" ]; then
  picture=$(realpath -- "$picture")
  [ -f "$picture" ] || { echo "$1: there is no such file" >&2; exit 1; }
fi

log=build/demo.log
quietly() { "$@" > "$log" 2>&1 || { tail -n 30 "$log" >&2; echo "failed: $* (all of it in $log)" >&2; exit 1; }; }
# Ninja's progress on one line: "[12/345] Building ..." becomes "building: 12 of 345". Where nobody watches, a line for each tenth.
progress() {
  local line shown=-1
  while IFS= read -r line; do
    printf '%s\n' "$line" >> "$log"
    [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]] || continue
    local done=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]}
    if [ -t 2 ]; then
      printf '\rbuilding: %d of %d ' "$done" "$all" >&2
    elif [ $((10 * done / all)) -gt $shown ]; then
      shown=$((10 * done / all))
      printf 'building: %d of %d\n' "$done" "$all" >&2
    fi
  done
  [ ! -t 2 ] || echo >&2
}
building() {
  : > "$log"
  "$@" 2>&1 | progress
  [ "${PIPESTATUS[0]}" -eq 0 ] || { tail -n 30 "$log" >&2; echo "failed: $* (all of it in $log)" >&2; exit 1; }
}
echo "building ..." >&2
quietly cmake --preset release
building cmake --build build/release --target minnow minnow_shared minnow_convert minnow_numerics minnow_cli
quietly cmake --install build/release --prefix build/demo/install
quietly cmake -S examples/demo -B build/demo/example -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$PWD/build/demo/install"
quietly cmake --build build/demo/example

echo "fetching and converting the networks ..." >&2
mkdir -p build/models/demo
fetch rapidocr==3.10.0 rapidocr/models/PP-OCRv6_det_small.onnx detector.onnx 090f04abcd9d9a7498bc4ebf677e4cb9bdce1fe4197ddb7e529f1ef44e1ff94f
fetch rapidocr==3.10.0 rapidocr/models/PP-OCRv6_rec_small.onnx recognizer.onnx 6f327246b50388f3c176ae304bd95767ea6dc0c9ae92153ef8cbe210b3c14884
for network in detector recognizer; do
  build/demo/install/bin/minnow convert "build/models/demo/$network.onnx" "build/models/demo/$network.minnow"
done
text=()
if [ -z "$picture" ]; then
  fetch scikit-image==0.26.0 skimage/data/page.png page.png 341a6f0a61557662b02734a9b6e56ec33a915b2c41886b97509dedf2a43b47a3
  picture=build/models/demo/page.png
  text=(examples/demo/page.txt)
fi
echo
exec build/demo/example/read_text build/models/demo/detector.minnow build/models/demo/recognizer.minnow "$picture" ${text[@]+"${text[@]}"}
