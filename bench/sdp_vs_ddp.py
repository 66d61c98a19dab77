#!/usr/bin/env python3
"""Memory, step time and hidden averaging of SDP against plain data parallelism, on real processes in one run.

A model dominated by its blocks (4 KB of embedding and head per 1 MB of blocks) on four workers of one thread each. The ratios
are what counts: absolute times depend on this machine and on what else it does. Runs alternate, and medians are reported.
"""
import argparse
import pathlib
import random
import statistics
import struct
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "deploy/local"))
from local_cluster import Cluster, say  # noqa: E402

WORKERS = 4
RATIOS = [1.0, 0.75, 0.5, 0.375]
SPEC = """\
display_name: bench
model: {{llama: {{layers: 16, hidden: 192, heads: 6, ffn: 512, vocab: 256, seq_len: 128}}}}
data: {{train_shards: [{data}/train.bin]}}
masking: {{active_ratio: {ratio}}}
batch: {{global_sequences: 16}}
stop: {{steps: {steps}}}
workers: {{min: 4, max: 4}}
output_directory: {data}/model
"""


def write_shard(path, tokens=200_000):
    """llm.c's layout; what the tokens are does not matter to time or memory."""
    generator = random.Random(1)
    header = struct.pack("<256i", 20240520, 1, tokens, *[0] * 253)
    path.write_bytes(header + b"".join(struct.pack("<H", generator.randrange(256)) for _ in range(tokens)))


def measure(cluster, ratio, steps):
    job = cluster.run_job(f"bench-{ratio:g}", SPEC.format(data=cluster.directory, ratio=ratio, steps=steps), watch=False)
    progress, summary = job["progress"], job["plan"]["summary"]
    return {
        "peak": int(progress["peak_tensor_bytes"]),
        "step": progress["step_seconds"],
        "sent": progress["bytes_per_step"],
        "hidden": progress.get("hidden_averaging_ratio", 0.0),
        "planned": statistics.mean(int(w["bytes_per_step"]) for w in summary["workers"]),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="times that each ratio is run (default 3)")
    parser.add_argument("--steps", type=int, default=30, help="steps of each run (default 30)")
    arguments = parser.parse_args()
    directory = pathlib.Path(tempfile.mkdtemp(prefix="sdp-bench-"))
    write_shard(directory / "train.bin")
    results = {ratio: [] for ratio in RATIOS}
    with Cluster(directory, WORKERS) as cluster:
        for number in range(arguments.rounds):
            for ratio in RATIOS:
                say(f"bench: round {number + 1} of {arguments.rounds}, C = {ratio:g}")
                results[ratio].append(measure(cluster, ratio, arguments.steps))

    def median(ratio, key):
        return statistics.median(result[key] for result in results[ratio])

    print(f"{'C':>5}  {'peak memory':>12} {'vs C=1':>7}  {'step':>8} {'vs C=1':>7}  {'sent/step':>10} {'vs ring minimum':>15}  "
          f"{'hidden averaging':>16}")
    for ratio in RATIOS:
        print(f"{ratio:>5g}  {median(ratio, 'peak') / 2**20:>8.1f} MiB {median(ratio, 'peak') / median(1.0, 'peak'):>7.2f}  "
              f"{1000 * median(ratio, 'step'):>5.0f} ms {median(ratio, 'step') / median(1.0, 'step'):>7.2f}  "
              f"{median(ratio, 'sent') / 2**20:>6.2f} MiB "
              f"{median(ratio, 'sent') / median(ratio, 'planned') if median(ratio, 'planned') else 1:>15.4f}  "
              f"{100 * median(ratio, 'hidden'):>15.0f}%")


if __name__ == "__main__":
    main()
