"""Record what the importable mlx computes for the cases of tests/python/nn/nn_cases.py.

    python tests/golden/nn/make.py      run it where the published wheel is installed

Writes one .npz a section beside this file: an array for each `case index/result`, and as
`text` the cases with their reprs and shapes.
"""

import json
import pathlib
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "python" / "nn"))


def main():
    """Run all cases and write the files."""
    from nn_cases import SECTIONS

    for section, (cases, run) in SECTIONS.items():
        arrays, texts = {}, []
        for index, case in enumerate(cases):
            results, text = run(case)
            texts.append({"case": case, "results": sorted(results), **text})
            arrays.update({f"{index}/{key}": value for key, value in results.items()})
        arrays["text"] = np.array(json.dumps(texts))
        np.savez_compressed(HERE / f"{section}.npz", **arrays)
        print(f"{section}: {len(cases)} cases, {len(arrays) - 1} arrays")


if __name__ == "__main__":
    main()
