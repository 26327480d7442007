"""What a request to a model holds, in the same words for every wire."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ghx_profiler.records.model_calls import ModelSettings, RequestAnatomy, SeenToolResult, WireKind

# "Please continue." of Gemini CLI and Qwen Code, "Output token limit hit. Resume directly ..." of Claude Code.
_CONTINUES = re.compile(
    r"\s*(system: |output token limit hit\. )?(please )?(continue|resume|go on|proceed|keep going)\b.{0,250}",
    re.IGNORECASE | re.DOTALL,
)

PieceKind = Literal["instructions", "user", "answer", "thought", "call", "result"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of a request that is for one thing; `size` in bytes of JSON."""

    kind: PieceKind
    size: int
    text: str = ""
    id: str | None = None
    """Of a tool call, or of the call that a result belongs to."""
    name: str | None = None
    failed: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """A request, read."""

    wire: WireKind
    model: str | None
    is_streamed: bool
    pieces: tuple[Piece, ...]
    tools_offered: tuple[str, ...]
    tool_schema_bytes: int
    settings: ModelSettings

    @property
    def anatomy(self) -> RequestAnatomy:
        """How many bytes are for what."""
        sizes = {"instructions": 0, "result": 0}
        for piece in self.pieces:
            kind = piece.kind if piece.kind in sizes else "conversation"
            sizes[kind] = sizes.get(kind, 0) + piece.size
        return RequestAnatomy(
            instructions=sizes["instructions"],
            tool_schemas=self.tool_schema_bytes,
            conversation=sizes.get("conversation", 0),
            tool_results=sizes["result"],
        )

    @property
    def tool_results(self) -> tuple[SeenToolResult, ...]:
        """The results of tools, in order; most wires send the name of the tool only with the call."""
        names = {piece.id: piece.name for piece in self.pieces if piece.kind == "call" and piece.id is not None}
        return tuple(
            SeenToolResult(id=each.id, name=each.name or names.get(each.id or ""), text=each.text, failed=each.failed)
            for each in self.pieces
            if each.kind == "result"
        )

    def mentions(self, prompts: Iterable[str]) -> bool:
        """Return whether a user message contains one of the prompts."""
        texts = [piece.text for piece in self.pieces if piece.kind == "user"]
        return any(_holds(text, prompt) for text in texts for prompt in prompts)

    def find_instruction(self, expressions: Iterable[str]) -> str | None:
        """Return the words in the instructions that match one of the expressions; `None` without a match."""
        texts = [piece.text for piece in self.pieces if piece.kind == "instructions"]
        matches = (re.search(expression, text) for expression in expressions for text in texts)
        return next((each.group() for each in matches if each is not None), None)

    def continues_after_answer(self, prompts: Sequence[str]) -> bool:
        """Return whether the model had answered and the next user message is not one of the prompts.

        Agents that consider the answer unfinished ask it to go on, which is not another question.
        Agents also put reminders between tool results; these follow no answer, and belong to the conversation.
        """
        questions: list[str] = []
        pieces = list(self.pieces)
        while pieces and pieces[-1].kind in ("user", "instructions"):
            questions.append(pieces.pop().text)
        seen_kinds = {"answer": False, "call": False}
        while pieces and pieces[-1].kind in ("answer", "call", "thought"):
            seen_kinds[pieces.pop().kind] = True
        if not questions or not seen_kinds["answer"] or seen_kinds["call"]:
            return False
        return not any(
            _CONTINUES.fullmatch(text) or any(_holds(text, prompt) for prompt in prompts) for text in questions
        )


def _holds(text: str, prompt: str) -> bool:
    # Agents re-wrap prompts; words and their order stay.
    return " ".join(prompt.split()) in " ".join(text.split())
