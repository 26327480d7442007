"""An agent of a user, as the text of its file: it answers with the words of its option, and does nothing else."""

ANSWERING_AGENT = """
from contextlib import asynccontextmanager
from ghx_profiler import Answer, TraceRecorder


class Answering:
    name = "answering"

    def __init__(self, words, slip=0):
        self.words = words

    @asynccontextmanager
    async def session(self, request):
        yield Session(self.words)


class Session:
    def __init__(self, words):
        self.words = words

    async def prompt(self, text):
        return Answer(text=self.words)

    async def trace(self):
        return TraceRecorder().trace()
"""
