#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Cases and timings of all GPU backends on a machine that has a GPU but no build.
#
# usage: bench/device_suite.sh pack [FOLDER]        here, after a build: makes FOLDER (default: build/device)
#        bench/device_suite.sh run [FOLDER] [OUT]   there: runs it, about 300 s; logs go to OUT (default: FOLDER/out), a summary to stdout
#
# `pack` strips the programs and adds ONNX's cases of operators and the loaders of Vulkan, EGL and OpenCL, as Debian packages. `run` uses the
# machine's loaders where it has them, runs the suite `node` on each backend at the same time, each for at most NODE_SECONDS (default: 70), then
# bench/devices.py (torch, torchvision and onnx) where Python has torch, and `minnow bench` of ONNX's light networks where it does not. Then
# quotients beside the processor's (bench/device_quotients.py), starts with and without a file of compiled kernels (bench/device_start.py),
# each device's own times of a network (`minnow profile`), and the gain of `minnow tune`. PARTS (default: cases networks quotients starts
# profiles tuning) names the parts.
# BACKENDS (default: cuda vulkan opencl) names the backends.
set -u
cd "$(dirname "$0")/.." || exit 1
mode=${1:-} folder=${2:-build/device}
read -ra backends <<< "${BACKENDS:-cuda vulkan opencl}"
wants() { [[ " ${PARTS:-cases networks quotients starts profiles tuning} " == *" $1 "* ]]; }

pack() {
  local build=${MINNOW_BUILD_DIR:-build/release} cases
  cases=$(readlink -f "${MINNOW_MODELS_DIR:-build/models}/onnx_conformance") || return 1
  mkdir -p "$folder/loaders" || return 1
  for program in minnow conformance_tests; do
    [ -x "$build/bin/$program" ] || { echo "$build/bin/$program is not built" >&2; return 1; }
    strip -o "$folder/$program" "$build/bin/$program" || return 1
  done
  # Libraries for pictures, which a bare machine may lack.
  ldd "$build/bin/minnow" | awk '/lib(jpeg|png16|webp|sharpyuv|z)[.]/ {print $3}' | xargs -r cp -L -t "$folder/loaders" || return 1
  tar -C "$cases" -cJf "$folder/cases.tar.xz" node light || return 1
  "${MINNOW_VENV:-build/venv}/bin/python" bench/device_quotients.py make "$folder/quotients" || return 1
  (cd "$folder/loaders" && apt-get download libvulkan1 libegl1 libglvnd0 libgles2 ocl-icd-libopencl1 > /dev/null 2>&1) ||
    echo "apt-get could not download the loaders; the machine's own are used" >&2
  du -sh "$folder"
}

run() {
  local out=${1:-$folder/out} work failed=0
  mkdir -p "$out"
  work=$(mktemp -d) || return 1
  mkdir -p "$work/models/onnx_conformance" "$work/loaders" "$work/vendors"
  tar -C "$work/models/onnx_conformance" -xJf "$folder/cases.tar.xz" || return 1
  chmod +x "$folder/minnow" "$folder/conformance_tests"
  for package in "$folder"/loaders/*.deb; do
    [ -e "$package" ] && { dpkg-deb -x "$package" "$work/loaders" || echo "$package could not be unpacked"; }
  done
  cp "$folder"/loaders/*.so.* "$work/loaders/" 2> /dev/null
  export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}${LD_LIBRARY_PATH:+:}$work/loaders"
  # The machine's loaders first, then those that came along.
  local own="$work/loaders/usr/lib/x86_64-linux-gnu"
  for library in libvulkan.so.1 libEGL.so.1 libGLESv2.so.2 libOpenCL.so.1; do
    ldconfig -p | grep -q "$library" || export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}${LD_LIBRARY_PATH:+:}$own"
  done
  # Drivers that lie where loaders do not look.
  if ! ls /usr/share/vulkan/icd.d/nvidia_icd.json /etc/vulkan/icd.d/nvidia_icd.json > "$work/found" 2> /dev/null && [ ! -s "$work/found" ]; then
    local icd
    icd=$(find / -xdev -name nvidia_icd.json -not -path '/proc/*' 2> /dev/null | head -n 1)
    [ -z "$icd" ] || export VK_DRIVER_FILES="$icd" VK_ICD_FILENAMES="$icd"
  fi
  if [ ! -e /etc/OpenCL/vendors/nvidia.icd ] && command -v nvidia-smi > /dev/null; then
    echo libnvidia-opencl.so.1 > "$work/vendors/nvidia.icd"
    export OCL_ICD_VENDORS="$work/vendors"
  fi
  if [ -z "${MINNOW_NVRTC:-}" ]; then
    local nvrtc
    nvrtc=$(python3 -c "import glob, site; print(next(iter(sorted(p for s in site.getsitepackages() for p in glob.glob(s + '/nvidia/*/lib/libnvrtc.so.*'))), ''))" 2> /dev/null)
    [ -z "$nvrtc" ] || export MINNOW_NVRTC="$nvrtc"
  fi
  export MINNOW_MODELS_DIR="$work/models" MINNOW_SOURCE_DIR="$PWD"

  nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2> /dev/null
  "$folder/minnow" devices | tee "$out/devices.txt"

  local begin=$SECONDS
  for backend in "${backends[@]}"; do
    wants cases || break
    timeout "${NODE_SECONDS:-70}" "$folder/conformance_tests" --suite node --backend "$backend" --verbose > "$out/node-$backend.txt" 2>&1 &
  done
  wait
  for backend in "${backends[@]}"; do
    wants cases || break
    if tail -n 1 "$out/node-$backend.txt" | grep -q 'passed'; then
      echo "node, $backend: $(tail -n 1 "$out/node-$backend.txt")"
    else
      echo "node, $backend: stopped after $(grep -c ' ok, ' "$out/node-$backend.txt") good cases: $(tail -n 1 "$out/node-$backend.txt")"
    fi
    grep '^FAILED' "$out/node-$backend.txt" | head -n 20
  done
  echo "cases took $((SECONDS - begin)) s"

  local usable=()
  for backend in "${backends[@]}"; do
    grep -q "^$backend .*cannot be used" "$out/devices.txt" || usable+=("$backend")
  done
  if ! wants networks; then
    echo "networks are left out"
  elif python3 -c 'import torch, torchvision, onnx' 2> /dev/null; then
    timeout "${BENCH_SECONDS:-80}" python3 bench/devices.py "$folder/minnow" --backend "${usable[@]}" --networks squeezenet1_1 mobilenet_v2 resnet18 resnet50 --seconds 0.2 2> "$out/devices.err" |
      tee "$out/devices.md" || { failed=1; tail -n 5 "$out/devices.err"; }
  else
    for model in squeezenet shufflenet resnet50 densenet121; do
      for backend in "${usable[@]}"; do
        "$folder/minnow" bench "$work/models/onnx_conformance/light/light_$model.onnx" --backend "$backend" --json -n 0.5 > "$work/bench.json" 2> "$work/bench.err" &&
          echo "$model, $backend: $(python3 -c "import json, sys; print('%.3f ms' % json.load(open(sys.argv[1]))['min_ms'])" "$work/bench.json")" ||
          { failed=1; echo "$model, $backend: $(tail -n 1 "$work/bench.err")"; }
      done
    done | tee "$out/light.txt"
  fi

  local light="$work/models/onnx_conformance/light"
  if wants quotients; then
    cp -r "$folder/quotients" "$work/quotients"
    python3 bench/device_quotients.py run "$work/quotients" "$folder/minnow" --backend "${usable[@]}" 2>&1 | tee "$out/quotients.md"
    [ "${PIPESTATUS[0]}" = 0 ] || failed=1
  fi
  if wants starts; then
    python3 bench/device_start.py "$folder/minnow" "$light/light_squeezenet.onnx" "$light/light_resnet50.onnx" --backend "${usable[@]}" 2>&1 | tee "$out/starts.md"
    [ "${PIPESTATUS[0]}" = 0 ] || failed=1
  fi
  for backend in "${usable[@]}"; do
    if wants profiles; then
      "$folder/minnow" profile "$light/light_squeezenet.onnx" --backend "$backend" --seconds 1 --trace "$out/trace-$backend.json" \
        > "$out/profile-$backend.txt" 2>&1 || { failed=1; tail -n 1 "$out/profile-$backend.txt"; }
      echo "profile, $backend:" && head -n 6 "$out/profile-$backend.txt"
    fi
    if wants tuning; then
      "$folder/minnow" tune "$light/light_squeezenet.onnx" --backend "$backend" --file "$out/tuning.txt" --seconds 5 > "$work/tune.txt" 2>&1 ||
        failed=1
      echo "tuning, $backend: $(tail -n 2 "$work/tune.txt")"
    fi
  done
  rm -rf "$work"
  return $failed
}

case "$mode" in
  pack) pack ;;
  run) run "${3:-}" ;;
  *) sed -n 's/^# \?//p' "$0" | sed -n '2,17p' >&2; exit 2 ;;
esac
