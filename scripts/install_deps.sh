#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: scripts/install_deps.sh [build|python|wheel|cross|format|test|check|wasm|demo|demo-train|bench|owners|array-api|docs]...   (default: build)
# Installs what the named groups need and is missing: Debian packages (as root or by sudo), for `python` the packages of
# scripts/requirements.txt in build/venv, for `bench` those of bench/requirements.txt in build/venv-bench, and for `owners` those of
# scripts/requirements-owners.txt in build/venv-owners, for `array-api` those of scripts/requirements-array-api.txt in build/venv-array-api, and
# for `docs` those of scripts/requirements-docs.txt in build/venv-docs.
# Asks nothing. Does nothing, quickly, when everything is there.
set -u
cd "$(dirname "$0")/.." || exit 1
[ $# -gt 0 ] || set -- build

packages() {
  case "$1" in
    build) echo cmake ninja-build g++ lld-19 ccache libhwy-dev libprotozero-dev libflatbuffers-dev flatbuffers-compiler libcli11-dev nlohmann-json3-dev \
      libgtest-dev libgmock-dev binutils python3 ;;
    python) echo python3-venv python3-dev ca-certificates libjpeg62-turbo-dev libpng-dev libwebp-dev zlib1g-dev \
      libfreetype-dev fonts-dejavu-core ;;
    wheel) echo advancecomp ;;
    cross) echo g++-aarch64-linux-gnu g++-arm-linux-gnueabihf qemu-user-static googletest clang-19 ;;
    format) echo clang-format-14 ;;
    test) echo clang-14 ;; # the other compiler, which custom operators are built with
    check) echo clang-14 libclang-rt-14-dev vulkan-validationlayers ;;
    gpu) echo ocl-icd-libopencl1 pocl-opencl-icd spirv-tools glslang-tools spirv-cross libvulkan1 mesa-vulkan-drivers libegl1 libegl-mesa0 libgles2 ;;
    wasm) echo emscripten nodejs ;;
    demo) echo libpng-dev libjpeg62-turbo-dev ;;
    demo-train) echo dataset-fashion-mnist ;;
    bench) echo libbenchmark-dev python3-venv ca-certificates ;;
    owners | array-api) echo python3-venv ca-certificates ;;
    docs) echo doxygen python3-venv ca-certificates ;;
    *) echo "install_deps.sh: unknown group $1" >&2; return 1 ;;
  esac
}

wanted=()
for group in "$@"; do
  names=$(packages "$group") || exit 2
  wanted+=($names)
done

missing=()
if command -v dpkg-query > /dev/null; then
  installed=" $(dpkg-query -W -f='${db:Status-Abbrev}${binary:Package} ' 2> /dev/null | sed 's/:[a-z0-9]* / /g') "
  for name in "${wanted[@]}"; do
    [[ "$installed" == *"ii $name "* ]] || missing+=("$name")
  done
else
  missing=("${wanted[@]}")
fi

if [ ${#missing[@]} -gt 0 ]; then
  mkdir -p build
  log=build/install_deps.log
  as_root=()
  if [ "$(id -u)" != 0 ]; then as_root=(sudo -n); fi
  if ! command -v apt-get > /dev/null; then
    echo "missing, and there is no apt-get to install them: ${missing[*]}" >&2; exit 1
  fi
  if [ "$(id -u)" != 0 ] && ! sudo -n true 2> /dev/null; then
    echo "missing, and installing needs root or a sudo that does not ask: apt-get install ${missing[*]}" >&2; exit 1
  fi
  echo "installing ${missing[*]}" >&2
  apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -y -q -o Dpkg::Use-Pty=0)
  if ! { "${apt[@]}" update && "${apt[@]}" install --no-install-recommends "${missing[@]}"; } > "$log" 2>&1 < /dev/null; then
    echo "missing, and apt-get could not install them: ${missing[*]} ($(grep '^E:' "$log" | head -n 1); all of it in $log)" >&2; exit 1
  fi
fi

# venv FOLDER REQUIREMENTS [each]: a virtual environment that holds exactly these requirements; a copy of the list says what it holds.
# each: the list names all packages there are to install, and one that cannot be had here does not keep the others away.
venv() {
  local folder=$1 requirements=$2 each=${3:-} python=python3 options=() line lacking=()
  cmp -s "$requirements" "$folder/requirements.txt" && return 0
  [ -x /usr/bin/python3 ] && python=/usr/bin/python3
  [ -z "$each" ] || options=(--no-deps)
  echo "installing the Python packages of $requirements into $folder" >&2
  mkdir -p build
  local log=build/install_deps.log
  pip_install() { "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: "${options[@]}" "$@" >> "$log" 2>&1 < /dev/null; }
  if ! { [ -x "$folder/bin/pip" ] || "$python" -m venv --clear "$folder"; } > "$log" 2>&1 || ! pip_install -r "$requirements"; then
    if [ -n "$each" ] && [ -x "$folder/bin/pip" ]; then
      while read -r line; do
        [[ "$line" == "" || "$line" == "#"* ]] || pip_install "$line" || lacking+=("$line")
      done < "$requirements"
      echo "pip could not install ${lacking[*]}; all of it in $log" >&2
      return 0
    fi
    echo "missing, and pip could not install them: $(grep -v '^#' "$requirements" | tr '\n' ' ')($(grep -i error "$log" | tail -n 1); all of it in $log)" >&2
    return 1
  fi
  cp "$requirements" "$folder/requirements.txt"
}
for group in "$@"; do
  case "$group" in
    python) venv build/venv scripts/requirements.txt || exit 1 ;;
    bench) venv build/venv-bench bench/requirements.txt each || exit 1 ;;
    array-api) venv build/venv-array-api scripts/requirements-array-api.txt || exit 1 ;;
    docs) venv build/venv-docs scripts/requirements-docs.txt || exit 1 ;;
    owners) venv build/venv-owners scripts/requirements-owners.txt each || exit 1 ;;
  esac
done
