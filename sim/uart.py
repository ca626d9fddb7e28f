"""What a serial receiver hears when the line runs at a speed that it does not expect: 8N1, bit by bit."""

from __future__ import annotations

TOLERANCE = 0.04
"""Relative difference of speed that a receiver still bears: less than half a bit over ten bits."""


def same_speed(sent_byte_s: float, heard_byte_s: float) -> bool:
    """True if the receiver reads the line without errors."""
    return abs(sent_byte_s - heard_byte_s) <= TOLERANCE * heard_byte_s


def mishear(data: bytes, start_s: float, sent_byte_s: float, heard_byte_s: float) -> list[tuple[float, int, bool]]:
    """Bytes as a receiver at the wrong speed takes them off the line.

    The receiver waits for a falling edge, samples the middle of each of its own ten bit times, and takes a
    low stop bit as a framing error. The line rests high before and after.

    Args:
        data: bytes sent back to back.
        start_s: when the first start bit begins.
        sent_byte_s: ten bit times of the sender.
        heard_byte_s: ten bit times of the receiver.

    Returns:
        Time of completion, value, and whether the stop bit was wrong, in order of time.
    """
    levels = [level for byte in data for level in (0, *((byte >> bit) & 1 for bit in range(8)), 1)]
    sent_bit_s, heard_bit_s = sent_byte_s / 10, heard_byte_s / 10
    heard: list[tuple[float, int, bool]] = []
    index = 0
    while (index := _falling_edge(levels, index)) < len(levels):
        edge_s = index * sent_bit_s
        samples = [_level(levels, (edge_s + (bit + 0.5) * heard_bit_s) / sent_bit_s) for bit in range(10)]
        if samples[0]:
            index += 1
            continue
        value = sum(level << bit for bit, level in enumerate(samples[1:9]))
        heard.append((start_s + edge_s + heard_byte_s, value, not samples[9]))
        index = max(index + 1, int((edge_s + 9.5 * heard_bit_s) / sent_bit_s))
    return heard


def _level(levels: list[int], position: float) -> int:
    index = int(position)
    return levels[index] if index < len(levels) else 1


def _falling_edge(levels: list[int], index: int) -> int:
    """Index of the first low level at or after `index` that follows a high one."""
    while index < len(levels) and (levels[index] or (index > 0 and not levels[index - 1])):
        index += 1
    return index
