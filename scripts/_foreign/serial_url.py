"""Lets programs that open a serial port by its name open ``socket://`` too, and those of Python 2 write text."""

from __future__ import annotations

from typing import Any

import serial
from serial.urlhandler import protocol_socket


class TextPort:
    """A port as Python 2 had it: what is written and read is text, a letter a byte."""

    def __init__(self, port: Any) -> None:
        self.__dict__["_port"] = port

    def write(self, text: str) -> Any:
        """Send text."""
        return self._port.write(text.encode("latin-1"))

    def read(self, size: int = 1) -> str:
        """Up to so many letters."""
        return self._port.read(size).decode("latin-1")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._port, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._port, name, value)


def teach(*, text: bool = False) -> None:
    """From now on `serial.Serial` does so."""
    real = serial.Serial

    def opened(port: str, *args: Any, **options: Any) -> Any:
        kind = protocol_socket.Serial if port.startswith("socket://") else real
        found = kind(port, *args, **options)
        return TextPort(found) if text else found

    serial.Serial = opened
