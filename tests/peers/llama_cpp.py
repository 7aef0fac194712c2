"""Reading and writing text with weights in 4 bits, beside llama.cpp.

    PYTHONPATH=build/python python tests/peers/llama_cpp.py --bench llama-bench [--threads 2]

Needs the packages `gguf` and `numpy`, and the program llama-bench of llama.cpp. The model is that
of `mlx-bench llama/`: here in groups of 64 (4.5 bits a weight with bfloat16 activations), there as
Q4_0 (groups of 32, 4.5 bits). Both run in turns. Written are tokens a second, medians over rounds,
and their ratio: above 1, this framework is ahead.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import gguf
import numpy as np

from mlx.bench.cases import e_language as model

ROWS = {
    "llama/decode a token, 4-bit, compiled": ("-p", "0", "-n", "32", "-d", str(model.KNOWN)),
    "llama/read 256 tokens, 4-bit, compiled": ("-p", str(model.KNOWN), "-n", "0"),
}
TOKENS = {"decode": 1, "read": model.KNOWN}
NAMES = {
    "q": "attn_q",
    "k": "attn_k",
    "v": "attn_v",
    "o": "attn_output",
    "gate": "ffn_gate",
    "up": "ffn_up",
    "down": "ffn_down",
}
Q4 = gguf.GGMLQuantizationType.Q4_0


def write_model(path):
    """The model of random weights, as llama.cpp reads it."""
    rng = np.random.default_rng(0)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(4 * model.KNOWN)
    writer.add_embedding_length(model.WIDE)
    writer.add_block_count(model.LAYERS)
    writer.add_feed_forward_length(model.HIDDEN)
    writer.add_head_count(model.HEADS)
    writer.add_head_count_kv(model.HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(model.WIDE // model.HEADS)
    writer.add_vocab_size(model.WORDS)
    writer.add_tokenizer_model("no_vocab")

    def matrix(name, shape):
        w = rng.standard_normal(shape, np.float32) * shape[1] ** -0.5
        writer.add_tensor(name, gguf.quants.quantize(w, Q4), raw_dtype=Q4)

    def norm(name):
        writer.add_tensor(name, rng.standard_normal(model.WIDE, np.float32) * 0.01 + 1)

    matrix("token_embd.weight", (model.WORDS, model.WIDE))
    matrix("output.weight", (model.WORDS, model.WIDE))
    norm("output_norm.weight")
    for i in range(model.LAYERS):
        norm(f"blk.{i}.attn_norm.weight")
        norm(f"blk.{i}.ffn_norm.weight")
        for name, shape in model.SHAPES.items():
            matrix(f"blk.{i}.{NAMES[name]}.weight", shape)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def output(*command):
    """The standard output of a command."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def of_llama_cpp(options, path, arguments):
    """Tokens a second of llama.cpp."""
    command = (options.bench, "-m", path, "-t", str(options.threads), "-r", "5", "-o", "json")
    return json.loads(output(*command, *arguments))[-1]["avg_ts"]


def of_this(options, row, folder):
    """Tokens a second here."""
    samples = Path(folder) / "samples.json"
    bench = (sys.executable, "-m", "mlx.bench", "--threads", str(options.threads))
    output(*bench, "--json", str(samples), f"^{row}$")
    seconds = json.loads(samples.read_text())["rows"][0]["timings"]["this"]["seconds"]
    return TOKENS[row.split("/")[1].split()[0]] / seconds


def main():
    """Run the rounds and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bench", required=True, help="the program llama-bench")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model.gguf")
        write_model(path)
        for row, arguments in ROWS.items():
            theirs, ours = [], []
            for _ in range(options.rounds):
                theirs.append(of_llama_cpp(options, path, arguments))
                ours.append(of_this(options, row, folder))
            a, b = statistics.median(ours), statistics.median(theirs)
            print(f"{row:40} {a:8.1f} {b:8.1f}   ratio {a / b:.2f}")


if __name__ == "__main__":
    main()
