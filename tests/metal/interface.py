"""Compares metal-cpp with Metal's interface: `interface.py WHEEL`.

WHEEL is pyobjc-framework-Metal for macOS, whose metadata name the methods and constants of Metal:
`pip download --no-deps --only-binary=:all: --platform macosx_11_0_universal2 --python-version 3.12
pyobjc-framework-Metal`. It is read, not run.
"""

import re
import sys
import zipfile
from pathlib import Path

HEADER = Path(__file__).resolve().parents[2] / "metal-cpp/metal.h"
# Methods of Foundation, and its classes NSObject, NSString and NSError that have them.
FOUNDATION = {
    "alloc": "NSObject",
    "init": "NSObject",
    "fileURLWithPath:": "NSURL",
    "initWithBytes:length:encoding:": "NSString",
    "length": "NSString",
    "UTF8String": "NSString",
    "localizedDescription": "NSError",
}
# Methods of classes of Metal, whose metadata lists a method only where a type needs that: these are
# in Apple's documentation of MTLCaptureManager and MTLCaptureDescriptor.
DOCUMENTED = {
    "sharedCaptureManager": "MTLCaptureManager",
    "stopCapture": "MTLCaptureManager",
    "setCaptureObject:": "MTLCaptureDescriptor",
    "setDestination:": "MTLCaptureDescriptor",
    "setOutputURL:": "MTLCaptureDescriptor",
}
# Constants of metal.h, by names that stand beside them in comments.
CONSTANTS = {
    "MTLResourceUsageRead": 1,
    "MTLResourceUsageWrite": 2,
    "MTLCommandBufferStatusCompleted": 4,
    "MTLResourceStorageModeShared": 0,
    "MTLCaptureDestinationGPUTraceDocument": 2,
}


def main(wheel: str) -> int:
    """Prints the selectors and constants that differ; 1 where there are some."""
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read("Metal/_metadata.py").decode()
    sent = set(re.findall(r'send<[^;"]*?"([\w:]+)"', HEADER.read_text()))
    methods = sent - FOUNDATION.keys() - DOCUMENTED.keys()
    missing = sorted(m for m in methods if f'"{m}"' not in metadata)
    for method in missing:
        print(f"no method of Metal is {method}")
    wrong = [n for n, value in CONSTANTS.items() if not re.search(rf"\b{n}@{value}\b", metadata)]
    for name in wrong:
        print(f"{name} is not {CONSTANTS[name]}")
    print(f"{len(methods)} methods and {len(CONSTANTS)} constants of Metal compared")
    return bool(missing or wrong or len(methods) < 20)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
