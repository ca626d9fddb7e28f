"""The same job with a release that ends its lines with LF: a board has to stay silent, and still."""

from __future__ import annotations

import json
import os
import sys

import serial_url

serial_url.teach(text=True)

from ssc32 import SSC32  # noqa: E402


def main() -> None:
    """Move and ask, as far as it comes; what was heard goes out as JSON."""
    ssc = SSC32(os.environ["HIL_FOREIGN_PORT"], 115200, count=32)
    ssc.ser.timeout = 0.3
    ssc[0].position = 1500
    ssc.commit()
    first = ssc.is_done()
    ssc[0].position = 2000
    ssc.commit(time=300)
    second = ssc.is_done()
    ssc.ser.write("Q\n")
    json.dump({"done": [first, second], "heard": ssc.ser.read(8)}, sys.stdout)
    ssc.close()


main()
