#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time per token of a decoder whose weights take 4 bits, beside the memory's bandwidth, f32, and llama.cpp with the same weights.

  python3 bench/decoder.py [--minnow build/release/bin/minnow] [--peers PYTHON] [--rounds N] [--threads N...] [--page FILE]

The decoder has 12 layers and about 100 million random parameters, and is built with minnow.expr: RMS normalization, rotary embedding, attention over
64 earlier tokens, a gated feed-forward part. `minnow quantize --weights-only rtn --symmetric true --block-size 32 --weights minmax` gives the same
integers and scales as llama.cpp's Q4_0. PYTHON is one that has llama-cpp-python and gguf; without it Minnow is timed alone. Engines take turns within
each round; the table has minima. The part of the bandwidth counts the weights that a token reads: all of them, and one row of the first table.
"""
import argparse
import json
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from record import machine

ROOT = Path(__file__).resolve().parent.parent
LAYERS, WIDTH, HIDDEN, HEADS, WORDS, PAST, PROMPT = 12, 768, 2048, 12, 16000, 64, 128
HEAD = WIDTH // HEADS


def parameters():
    random = np.random.default_rng(1)
    draw = lambda *shape: (random.standard_normal(shape, np.float32) * np.float32(0.02))
    table = draw(WORDS, WIDTH)
    layers = [{"q": draw(WIDTH, WIDTH), "k": draw(WIDTH, WIDTH), "v": draw(WIDTH, WIDTH), "o": draw(WIDTH, WIDTH), "gate": draw(WIDTH, HIDDEN), "up": draw(WIDTH, HIDDEN),
               "down": draw(HIDDEN, WIDTH)} for _ in range(LAYERS)]
    return table, layers


def build(path, table, layers):
    from minnow import expr
    angles = np.outer(np.arange(2 * PAST + PROMPT), 10000.0 ** (-np.arange(0, HEAD, 2) / HEAD))
    cos, sin = expr.const(np.cos(angles).astype(np.float32)), expr.const(np.sin(angles).astype(np.float32))
    token, place = expr.placeholder("token", "int64", [1, None]), expr.placeholder("place", "int64", [1, None])
    one = expr.const(np.ones(WIDTH, np.float32))
    normal = lambda x: expr.rms_normalization(x, one, epsilon=1e-5)
    x, inputs, outputs = expr.gather(expr.const(table), token), [token, place], []
    for i, w in enumerate(layers):
        w = {name: expr.const(array) for name, array in w.items()}
        past = [expr.placeholder(f"past_{part}_{i}", "float32", [1, HEADS, None, HEAD]) for part in "kv"]
        inputs += past
        h = normal(x)
        q, k = (expr.rotary_embedding(expr.matmul(h, w[part]), cos, sin, place, interleaved=1, num_heads=HEADS) for part in "qk")
        v = expr.matmul(h, w["v"])
        outputs += [k, v]
        y = expr.attention(q, k, v, None, *past, is_causal=1, q_num_heads=HEADS, kv_num_heads=HEADS)
        x = x + expr.matmul(y, w["o"])
        h = normal(x)
        x = x + expr.matmul(expr.swish(expr.matmul(h, w["gate"])) * expr.matmul(h, w["up"]), w["down"])
    expr.save([expr.matmul(normal(x), expr.const(np.ascontiguousarray(table.T)))] + outputs, path, inputs)


# Run by PYTHON: writes the same decoder as a GGUF file of Q4_0 weights.
WRITE = """
import sys, numpy as np, gguf
arrays = dict(np.load(sys.argv[1]))
layers, width, hidden, heads, words = map(int, sys.argv[3:])
writer = gguf.GGUFWriter(sys.argv[2], "llama")
writer.add_context_length(512); writer.add_embedding_length(width); writer.add_block_count(layers); writer.add_feed_forward_length(hidden)
writer.add_head_count(heads); writer.add_head_count_kv(heads); writer.add_layer_norm_rms_eps(1e-5); writer.add_rope_dimension_count(width // heads)
writer.add_vocab_size(words); writer.add_tokenizer_model("none"); writer.add_file_type(2)
kind = gguf.GGMLQuantizationType.Q4_0
def put(name, array): writer.add_tensor(name, gguf.quants.quantize(np.ascontiguousarray(array), kind), raw_dtype=kind)
one = np.ones(width, np.float32)
put("token_embd.weight", arrays["table"]); put("output.weight", arrays["table"]); writer.add_tensor("output_norm.weight", one)
names = {"q": "attn_q", "k": "attn_k", "v": "attn_v", "o": "attn_output", "gate": "ffn_gate", "up": "ffn_up", "down": "ffn_down"}
for i in range(layers):
    for part, name in names.items(): put(f"blk.{i}.{name}.weight", arrays[f"{part}_{i}"].T)
    writer.add_tensor(f"blk.{i}.attn_norm.weight", one); writer.add_tensor(f"blk.{i}.ffn_norm.weight", one)
writer.write_header_to_file(); writer.write_kv_data_to_file(); writer.write_tensors_to_file(); writer.close()
"""
# Prints the seconds of a token behind `past` others and of a prompt, the resident bytes, and the logits' first numbers.
PEER = """
import sys, time, json, ctypes, llama_cpp
path, threads, past, prompt, rounds = sys.argv[1], *map(int, sys.argv[2:])
rss = lambda: int(next(line for line in open("/proc/self/status") if line.startswith("VmRSS")).split()[1]) * 1024
before = rss()
llama = llama_cpp.Llama(path, n_ctx=512, n_threads=threads, n_threads_batch=threads, n_batch=512, verbose=False, use_mmap=False)
def timed(tokens):
    start = time.perf_counter(); llama.eval(tokens); return time.perf_counter() - start
token = whole = 1e9
for _ in range(rounds):
    llama.reset(); whole = min(whole, timed([i * 7 % 16000 for i in range(prompt)]))
    llama.reset(); llama.eval([i * 7 % 16000 for i in range(past)])
    for i in range(16): token = min(token, timed([i + 1]))
print(json.dumps({"token": token, "prompt": whole, "resident": rss() - before}))
"""


def call(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{command[:4]}: {done.stderr[-2000:]}")
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minnow", default=ROOT / "build/release/bin/minnow", type=Path)
    parser.add_argument("--peers")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--bits", type=int, nargs="+", default=[4])
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    table, layers = parameters()
    build(str(folder / "f32.minnow"), table, layers)
    count = table.size * 2 + sum(array.size for layer in layers for array in layer.values())
    read = count - table.size
    for bits in options.bits:
        for name, more in ((f"q{bits}", []), (f"q{bits}i8", ["--activations", "i8"])):
            call(options.minnow, "quantize", folder / "f32.minnow", folder / f"{name}.minnow", "--weights-only", "rtn", "--bits", bits, "--symmetric", "true", "--block-size", 32, "--weights", "minmax", *more)
    if options.peers:
        np.savez(folder / "weights.npz", table=table, **{f"{part}_{i}": array for i, layer in enumerate(layers) for part, array in layer.items()})
        call(options.peers, "-c", WRITE, folder / "weights.npz", folder / "q4.gguf", LAYERS, WIDTH, HIDDEN, HEADS, WORDS)
    call("cc", "-O3", "-mavx2" if platform.machine() == "x86_64" else "-O3", "-pthread", ROOT / "bench/bandwidth.c", "-o", folder / "bandwidth")

    def bench(model, threads, tokens):
        shapes = [f"token=1x{tokens}", f"place=1x{tokens}"] + [f"past_{part}_{i}=1x{HEADS}x{PAST if tokens == 1 else 0}x{HEAD}" for i in range(LAYERS) for part in "kv"]
        answer = json.loads(call(options.minnow, "bench", model, "--json", "--threads", threads, "--seconds", 1.5, *(part for shape in shapes for part in ("--shape", shape))))
        cache = 8 * LAYERS * HEADS * HEAD * (PAST if tokens == 1 else 0)
        return {"seconds": answer["min_ms"] / 1000, "resident": answer["steady_rss_bytes"] - answer["base_rss_bytes"] - cache, "weights": answer["weight_bytes"]}

    rows = ["| threads | weights | bytes of weights a token reads | ms a token | GB/s | part of the bandwidth | ms for a prompt of 128 | resident MB | weights MB | ratio |", "|---|---|---|---|---|---|---|---|---|---|"]
    for threads in options.threads:
        bandwidth, found = 0, {}
        kinds = [("f32", "f32.minnow", 32)] + [(f"{bits} bits", f"q{bits}.minnow", bits) for bits in options.bits] + [(f"{bits} bits, activations 8", f"q{bits}i8.minnow", bits) for bits in options.bits]
        for _ in range(options.rounds):
            bandwidth = max(bandwidth, float(call(folder / "bandwidth", threads)))
            for name, model, bits in kinds:
                token, prompt = bench(folder / model, threads, 1), bench(folder / model, threads, PROMPT)
                row = found.setdefault(name, {"token": 1e9, "prompt": 1e9, "resident": 1e18, "bits": bits, "weights": token["weights"]})
                row["token"], row["prompt"], row["resident"] = min(row["token"], token["seconds"]), min(row["prompt"], prompt["seconds"]), min(row["resident"], token["resident"])
            if options.peers:
                answer = json.loads(call(options.peers, "-c", PEER, folder / "q4.gguf", threads, PAST, PROMPT, 2).splitlines()[-1])
                row = found.setdefault("llama.cpp, Q4_0", {"token": 1e9, "prompt": 1e9, "resident": 1e18, "bits": 4, "weights": count * 4.5 / 8})
                for key in ("token", "prompt", "resident"):
                    row[key] = min(row[key], answer[key])
        for name, row in found.items():
            per_weight = 4 if row["bits"] == 32 else (row["bits"] + 0.5) / 8
            rate = read * per_weight / row["token"]
            rows.append(f"| {threads} | {name} | {read * per_weight / 1e6:.1f} MB | {1000 * row['token']:.2f} | {rate / 1e9:.1f} | {100 * rate / bandwidth:.0f} % of {bandwidth / 1e9:.1f} GB/s | "
                        f"{1000 * row['prompt']:.1f} | {row['resident'] / 1e6:.1f} | {row['weights'] / 1e6:.1f} | {row['resident'] / row['weights']:.2f} |")
            print(rows[-1], flush=True)
    print("\n".join(rows))
    if options.page:
        options.page.write_text(f"# A decoder with weights of few bits\n\n{LAYERS} layers, {count / 1e6:.0f} million random parameters ({WORDS} words, counted in both tables), {machine()}, "
                                f"{time.strftime('%Y-%m-%d')}.\n\n```sh no-test\npython3 bench/decoder.py{' --peers PYTHON' if options.peers else ''} --rounds {options.rounds}\n```\n\n"
                                f"Symmetric blocks of 32 weights with scales of 16 bits{', the same numbers in both engines' if options.peers else ''}; minima, taken in turns. The bandwidth is that of reading memory\n"
                                "with as many threads in the same run. Activations 8: `--activations i8`. Resident memory is without the keys and values that the caller passes.\n\n" + "\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
