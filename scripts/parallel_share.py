#!/usr/bin/env python3
"""What share of the steps of a folder's tests is taken by grids whose blocks could run side by side: more than one block, and no atomic
operation, launch, allocation, clock or output in the kernel or in what it calls.

    scripts/parallel_share.py CDPC FOLDER

Steps are those of the reference executor, so the answer is the same on every machine.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

ORDERED = re.compile(r"\batomic\w+\s*\(|<<<|\bmalloc\s*\(|\bfree\s*\(|\bcuda\w+\s*\(|\bclock\w*|\bglobaltimer|\bprintf\s*\(")
ITEM = re.compile(r"^(?:@\S+\s+)*(kernel|fn|host fn|test)\s+(\w+|\"[^\"]*\")", re.M)


def items(text: str) -> dict[str, str]:
    """The text of every kernel and function, by name."""
    found = list(ITEM.finditer(text))
    ends = [match.start() for match in found[1:]] + [len(text)]
    return {match[2]: text[match.end() : end] for match, end in zip(found, ends)}


def is_ordered(name: str, bodies: dict[str, str], known: set[str]) -> bool:
    """Whether a function does what must happen in the run's order."""
    if name in known:
        return False
    known.add(name)
    body = bodies.get(name, "")
    called = set(re.findall(r"\b(\w+)\s*(?:::\[[^\]]*\])?\(", body)) & bodies.keys()
    return bool(ORDERED.search(body)) or any(is_ordered(other, bodies, known) for other in called)


def main() -> None:
    cdpc, folder = sys.argv[1:3]
    total = alone = 0
    for path in sorted(Path(folder).glob("*.cdp")):
        text = path.read_text()
        bodies = items(text)
        for test in re.findall(r'^test "([^"]*)"', text, re.M):
            command = [cdpc, "run", "--races=false", "--trace=json:-", f"--test={test}", "--leaks=false", str(path)]
            output = subprocess.run(command, capture_output=True, text=True, check=False).stdout
            start = output.rfind('{"unit"')
            for node in json.loads(output[start:])["nodes"] if start >= 0 else []:
                if node["kind"] != "grid" or node["ended"] is None:
                    continue
                steps = node["ended"] - node["started"]
                total += steps
                kernel = node["kernel"].split("::")[0]
                x, y, z = node["grid"]
                if x * y * z > 1 and not is_ordered(kernel, bodies, set()):
                    alone += steps
    print(f"{alone:,} of {total:,} steps, {100 * alone / max(total, 1):.1f} %")


if __name__ == "__main__":
    main()
