"""A coordinator and workers as processes on this machine's loopback, for the demo and the measurements."""
import json
import pathlib
import signal
import subprocess
import sys
import time

BIN = pathlib.Path(__file__).resolve().parents[2] / "bazel-bin"
COORDINATOR = BIN / "coordinator/coordinator"
WORKER = BIN / "worker/worker"
GENERATE = BIN / "worker/generate"
SDPCTL = BIN / "cli/sdpctl"


def say(text=""):
    print(text, file=sys.stderr, flush=True)


def fail(text):
    say(f"{pathlib.Path(sys.argv[0]).stem}: {text}")
    sys.exit(1)


class Cluster:
    """A coordinator and workers on loopback; ended by leaving the `with` block."""

    def __init__(self, directory, workers):
        self.directory = directory
        self.workers = workers
        self.processes = []

    def __enter__(self):
        port_file = self.directory / "ports.json"
        self.start("coordinator", [COORDINATOR, "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0",
                                   "--port-file", port_file])
        deadline = time.monotonic() + 30
        while not port_file.exists():
            if time.monotonic() > deadline or self.processes[0].poll() is not None:
                self.__exit__()
                fail(f"the coordinator did not start; see {self.directory}/coordinator.log")
            time.sleep(0.05)
        ports = json.loads(port_file.read_text())
        self.address = f"127.0.0.1:{ports['grpc_port']}"
        self.metrics = f"http://127.0.0.1:{ports['metrics_port']}/metrics"
        for i in range(self.workers):
            # All workers share the machine's cores: one thread each.
            self.start(f"worker-{i}", [WORKER, "--coordinator", self.address, "--name", f"worker-{i}", "--threads", "1"])
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self.processes:
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def start(self, name, arguments):
        log = open(self.directory / f"{name}.log", "w")
        self.processes.append(subprocess.Popen([str(a) for a in arguments], stdout=log, stderr=log,
                                               stdin=subprocess.DEVNULL, start_new_session=True))

    def sdpctl(self, *arguments, check=True):
        """Runs sdpctl; its progress goes to our standard error. Returns what it prints."""
        command = [str(SDPCTL), "--coordinator", self.address, *[str(a) for a in arguments]]
        result = subprocess.run(command, stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
        if check and result.returncode != 0:
            fail(f"'{' '.join(command)}' ended with {result.returncode}; logs are in {self.directory}")
        return result.stdout

    def run_job(self, name, spec, watch=True):
        """Submits a spec (YAML text) and waits for its end; returns the job, which has succeeded."""
        path = self.directory / f"{name}.yaml"
        path.write_text(spec)
        if watch:
            say(f"\nsdpctl job submit -f {path} --watch")
        job = json.loads(self.sdpctl("-o", "json", "job", "submit", "-f", path, "--watch" if watch else "--wait"))
        if job.get("state") != "JOB_STATE_SUCCEEDED":
            fail(f"{name} ended as {job.get('state')}: {job.get('state_reason')}; logs are in {self.directory}")
        return job
