"""Several capabilities in one call, in as few round trips as their order allows."""

from ghx_tools.capabilities.chain.scheduling import MOST_STEPS, ChainResult, Step, read_steps, run_chain

__all__ = ["MOST_STEPS", "ChainResult", "Step", "read_steps", "run_chain"]
