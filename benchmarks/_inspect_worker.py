"""Runs Inspect AI once on the same task as `_bench_worker.py`, and prints the seconds it took.

Its logs are what it writes by default; by default it gathers several samples before it writes them, where we write each
row at once.
"""

import argparse
import time

import anyio
import inspect_ai
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import match

ANSWER = "42"


def measure(scenarios: int, repetitions: int, concurrency: int, sleep_s: float, logs: str) -> float:
    async def answer(*_: object) -> ModelOutput:
        await anyio.sleep(sleep_s)
        output = ModelOutput.from_content(model="mockllm", content=ANSWER)
        # Without these, the mock model counts tokens and downloads a tokenizer for it.
        output.usage = ModelUsage(input_tokens=10, output_tokens=1, total_tokens=11)
        return output

    task = inspect_ai.Task(
        dataset=[Sample(id=f"s{n}", input="6 x 7?", target=ANSWER) for n in range(scenarios)],
        scorer=match(),
        epochs=repetitions,
    )
    began = time.perf_counter()
    [log] = inspect_ai.eval(
        task,
        model=get_model("mockllm/model", custom_outputs=answer),
        display="none",
        log_dir=logs,
        max_samples=concurrency,
        max_connections=concurrency,
    )
    seconds = time.perf_counter() - began
    if log.status != "success" or log.results is None or log.results.completed_samples != scenarios * repetitions:
        raise SystemExit(f"Inspect AI did not finish: {log.status} {log.error}")
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, kind in (("scenarios", int), ("repetitions", int), ("concurrency", int), ("sleep", float)):
        parser.add_argument(f"--{name}", type=kind, required=True)
    parser.add_argument("--results", required=True)
    given = parser.parse_args()
    print(measure(given.scenarios, given.repetitions, given.concurrency, given.sleep, given.results))


if __name__ == "__main__":
    main()
