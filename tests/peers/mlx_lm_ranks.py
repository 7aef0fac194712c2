"""Generation by mlx-lm on several ranks, by sharded layers or a pipeline: the tokens of one rank.

    python tests/peers/mlx_lm_ranks.py [--ranks 2] [--backend ring]

The Python has mlx-lm and this package. A small Qwen2 with random weights goes on with a prompt,
alone, then divided among the ranks in both ways; the status is 1 where tokens differ.
"""

import argparse
import json
import subprocess
import sys

CONFIG = {
    "model_type": "qwen2",
    "hidden_size": 64,
    "num_hidden_layers": 4,
    "intermediate_size": 128,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "rms_norm_eps": 1e-6,
    "vocab_size": 300,
    "tie_word_embeddings": False,
}
TOKENS = 40


def generate(way):
    """The tokens of a rank whose model is divided in a way: alone, shard, pipeline."""
    from mlx_lm.generate import generate_step
    from mlx_lm.models import qwen2

    import mlx.core as mx

    group = mx.distributed.init()
    mx.random.seed(5)
    model = qwen2.Model(qwen2.ModelArgs.from_dict(CONFIG))
    mx.eval(model.parameters())
    model.set_dtype(mx.float32)
    if way == "shard":
        model.shard(group)
    elif way == "pipeline":
        model.model.pipeline(group)
    mx.eval(model.parameters())
    prompt = mx.array([7, 3, 250, 11, 42])
    steps = generate_step(prompt, model, max_tokens=TOKENS)
    return [int(token) for token, _ in steps], group


def run_rank():
    """Print whether all ways give the tokens of one rank."""
    alone, group = generate("alone")
    result = {way: generate(way)[0] == alone for way in ("shard", "pipeline")}
    if group.rank() == 0:
        print(json.dumps({"ranks": group.size(), "tokens": alone[:6], **result}))


def main():
    """Start the ranks, and say what came out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", default="2")
    parser.add_argument("--backend", default="ring")
    parser.add_argument("--rank", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rank:
        return run_rank()
    launch = [sys.executable, "-m", "mlx.launch", "-n", options.ranks]
    done = subprocess.run(
        [*launch, "--backend", options.backend, __file__, "--rank"],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    print(done.stdout.strip() or done.stderr)
    lines = [json.loads(x) for x in done.stdout.splitlines() if x.startswith("{")]
    good = done.returncode == 0 and lines and lines[0]["shard"] and lines[0]["pipeline"]
    return sys.exit(not good)


if __name__ == "__main__":
    main()
