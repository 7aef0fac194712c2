"""Read trained weights and classify the held-out digits.

python examples/digits/predict.py examples/digits/output/digits.safetensors
"""

import sys

from data import load
from model import DigitNet, accuracy

import mlx.core as mx


def main(weights: str) -> None:
    """Print the first predictions and the share of right ones."""
    model = DigitNet().eval()
    model.load_weights(weights)
    _, _, images, labels = load()
    guesses = mx.argmax(model(images), axis=1)
    print("a new process read the weights")
    print(f"  it sees {guesses[:20].tolist()}")
    print(f"  they are {labels[:20].tolist()}")
    print(f"  of {len(images)} digits {accuracy(model, images, labels):.2%} right")


if __name__ == "__main__":
    main(sys.argv[1])
