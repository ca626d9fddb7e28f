"""Stands for the driver of an FTDI chip: its one device is the port that the environment names."""

from __future__ import annotations

import os

import serial


class Device:
    """The chip; in text mode, as the client opens it, a letter is a byte."""

    def __init__(self, mode: str) -> None:
        assert mode == "t", mode
        self._port = serial.serial_for_url(os.environ["HIL_FOREIGN_PORT"], baudrate=9600, timeout=1)

    @property
    def baudrate(self) -> int:
        """Speed of the line."""
        return int(self._port.baudrate)

    @baudrate.setter
    def baudrate(self, rate: int) -> None:
        self._port.baudrate = rate

    def write(self, text: str) -> int:
        """Send text."""
        return int(self._port.write(text.encode("latin-1")))
