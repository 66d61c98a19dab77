#!/usr/bin/env python3
"""Trains a small language model on real text with plain data parallelism and with SDP, and compares them.

Everything runs on this machine: one coordinator and four workers, started here and ended here. The runs are equal in
floating-point operations: a run in which each worker holds the share C of the blocks gets 1/C of the steps.
"""
import argparse
import json
import pathlib
import shutil
import subprocess
import tempfile
import time

from local_cluster import GENERATE, SDPCTL, Cluster, fail, say

WORKERS = 4

RUNS = [
    {"label": "DDP (C = 1)", "ratio": 1.0, "learning_rate": 3e-3},
    {"label": "B-SDP C = 0.75", "ratio": 0.75, "learning_rate": 3e-3},
    {"label": "B-SDP C = 0.50", "ratio": 0.5, "learning_rate": 3e-3},
]

SPEC = """\
display_name: {name}
model:
  llama: {{layers: 8, hidden: 128, heads: 4, ffn: 344, vocab: 256, seq_len: 128}}
data:
  train_shards: [{data}/train.bin]
  validation_shards: [{data}/validation.bin]
masking: {{unit: block, direction: forward, active_ratio: {ratio}, generator: balanced}}
averaging: {{mode: gradients}}
optimizer:
  adamw: {{learning_rate: {learning_rate}, beta1: 0.9, beta2: 0.95, weight_decay: 0.1}}
  schedule: {{warmup_steps: {warmup}, final_ratio: 0.1}}
  clip_norm: 1.0
batch: {{global_sequences: 32}}
stop: {{steps: {steps}}}
evaluation: {{interval_steps: {interval}, max_sequences: {evaluation_sequences}}}
workers: {{min: {workers}, max: {workers}}}
output_directory: {output}
seed: 1
"""


def prepare_text(directory, text_name):
    """Real text from Debian packages, as byte tokens; returns what `sdpctl data prepare` reports."""
    if text_name == "bible":
        command, source = ["bible", "-f", "gen1:1-rev22:21"], "bible-kjv"
    else:
        command, source = ["zcat", "/usr/share/dictd/gcide.dict.dz"], "dict-gcide"
    if shutil.which(command[0]) is None:
        fail(f"'{command[0]}' is missing; run ./sdp setup")
    text = directory / "text.txt"
    with open(text, "wb") as out:
        subprocess.run(command, stdout=out, check=True, stdin=subprocess.DEVNULL)
    say(f"demo: {text.stat().st_size / 1e6:.1f} MB of text from Debian's {source}")
    report = subprocess.run([str(SDPCTL), "data", "prepare", "--input", str(text), "--output-dir", str(directory),
                             "--validation-fraction", "0.05", "-o", "json"], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(report.stdout)


def run_job(cluster, run, steps, interval, arguments):
    name = f"demo-c{run['ratio']:g}".replace(".", "-")
    output = cluster.directory / name
    say(f"\ndemo: {run['label']}, {steps} steps")
    began = time.monotonic()
    job = cluster.run_job(name, SPEC.format(
        name=name, data=cluster.directory, output=output, ratio=run["ratio"], steps=steps,
        learning_rate=run["learning_rate"], warmup=max(1, steps // 10), interval=interval,
        evaluation_sequences=arguments.evaluation_sequences, workers=WORKERS))
    return summarise(run, steps, job, output, time.monotonic() - began)


def summarise(run, steps, job, output, seconds):
    progress, plan = job["progress"], job["plan"]["summary"]
    evaluation = job["evaluation"]
    return {
        "label": run["label"],
        "active_ratio": run["ratio"],
        "learning_rate": run["learning_rate"],
        "steps": steps,
        "wall_seconds": round(seconds, 1),
        "full_loss": evaluation["full_loss"],
        "subnetwork_losses": evaluation["subnetwork_losses"],
        "step_seconds": progress["step_seconds"],
        "peak_tensor_bytes": int(progress["peak_tensor_bytes"]),
        "bytes_per_step": progress["bytes_per_step"],
        "hidden_averaging_ratio": progress.get("hidden_averaging_ratio", 0.0),
        "spectral_gap": plan.get("spectral_gap", 0.0),
        "spectral_gap_bound": plan.get("spectral_gap_bound", 0.0),
        "masking_error": plan.get("masking_error", 0.0),
        "export": str(output),
    }


def print_table(rows, data):
    base = rows[0]["full_loss"]
    header = ["run", "steps", "full-model loss", "vs DDP", "subnetworks", "step", "peak memory", "sent/step", "hidden",
              "gap (bound)", "masking error"]
    lines = [header]
    for row in rows:
        losses = row["subnetwork_losses"]
        lines.append([
            row["label"], str(row["steps"]), f"{row['full_loss']:.3f}", f"{100 * (row['full_loss'] / base - 1):+.1f}%",
            f"{min(losses):.3f}-{max(losses):.3f}", f"{1000 * row['step_seconds']:.0f} ms",
            f"{row['peak_tensor_bytes'] / 2**20:.1f} MiB", f"{row['bytes_per_step'] / 2**20:.2f} MiB",
            f"{100 * row['hidden_averaging_ratio']:.0f}%",
            f"{row['spectral_gap']:.3f} ({row['spectral_gap_bound']:.3f})", f"{row['masking_error']:.3f}"])
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    for number, line in enumerate(lines):
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())
        if number == 0:
            print("  ".join("-" * width for width in widths))
    print()
    print("Losses are validation losses in nats per byte. A model that only knew how often each byte occurs would reach "
          f"{data['unigram_cross_entropy_nats']:.3f}.")
    print("Subnetworks are measured on an even quarter of the validation sequences of the full model: compare them with each\n"
          "other. Memory is the largest peak of tensor memory of a worker; sent/step is per worker, measured; hidden is the\n"
          "share of averaging behind the backward pass.")


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./sdp demo", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer steps: under a minute, losses far from final")
    parser.add_argument("--json", metavar="FILE", help="also write the table to FILE")
    parser.add_argument("--steps", type=int, help="steps of the C = 1 run (default 300; 24 with --quick)")
    parser.add_argument("--text", choices=["bible", "gcide"], default="bible",
                        help="bible: 4 MB (default); gcide: an English dictionary, 40 MB")
    parser.add_argument("--directory", help="where data, logs and models go (default: a new temporary folder, kept)")
    arguments = parser.parse_args()
    arguments.steps = arguments.steps or (24 if arguments.quick else 300)
    if arguments.steps < 1:
        parser.error("--steps must be at least 1")
    arguments.evaluation_sequences = 64 if arguments.quick else 256
    return arguments


def main():
    arguments = parse_arguments()
    directory = pathlib.Path(arguments.directory or tempfile.mkdtemp(prefix="sdp-demo-")).resolve()
    directory.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    data = prepare_text(directory, arguments.text)
    rows = []
    with Cluster(directory, WORKERS) as cluster:
        say(f"demo: coordinator at {cluster.address}, metrics at {cluster.metrics}, {WORKERS} workers; "
            f"logs in {directory}")
        for run in RUNS:
            steps = round(arguments.steps / run["ratio"])
            rows.append(run_job(cluster, run, steps, max(1, steps // 4), arguments))
    print()
    print_table(rows, data)
    sample = subprocess.run([str(GENERATE), "--model", rows[-1]["export"], "--prompt", "And God said", "--tokens", "200",
                             "--temperature", "0.7", "--seed", "1"], stdout=subprocess.PIPE, text=True, check=True,
                            errors="replace")
    print(f"\nText from the model of '{rows[-1]['label']}':\n  " + sample.stdout.strip().replace("\n", "\n  "))
    print("\nExported models (safetensors, LlamaForCausalLM):")
    for row in rows:
        print(f"  {row['label']:<16} {row['export']}")
    say(f"\ndemo: {time.monotonic() - began:.0f} seconds in all")
    if arguments.json:
        result = {"text": data, "runs": rows, "sample": sample.stdout}
        pathlib.Path(arguments.json).write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        fail("interrupted; the processes it started are ended")
