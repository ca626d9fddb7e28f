"""As much of a shell as job control needs: one job in the foreground of a terminal that this process leads.

Started with standard input, output and error on a terminal, in a session of its own:
``tiny_shell.py CONTROL REPORT COMMAND...``. CONTROL and REPORT are numbers of open pipes. It reports ``pid N``,
``stopped`` and ``exit CODE`` (negative for a signal), one a line; while its job is stopped it reads ``fg``, or leaves.
Like every shell it hands a closed terminal on to its job.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import sys
import termios

OF_A_SHELL = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)


def main() -> None:
    """Run the job to its end."""
    control, report = int(sys.argv[1]), int(sys.argv[2])

    def say(words: str) -> None:
        try:
            os.write(report, f"{words}\n".encode())
        except OSError:
            return  # nobody asks any more

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    for number in OF_A_SHELL:
        signal.signal(number, signal.SIG_IGN)
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpid())
        for number in (*OF_A_SHELL, signal.SIGHUP, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        os.close(control)
        os.close(report)
        os.execvp(sys.argv[3], sys.argv[3:])
    signal.signal(signal.SIGHUP, lambda number, frame: _tell(job, signal.SIGHUP, signal.SIGCONT))
    say(f"pid {job}")
    while True:
        _, status = os.waitpid(job, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            say(f"exit {os.waitstatus_to_exitcode(status)}")
            return
        _foreground(os.getpgrp())
        say("stopped")
        while not select.select([control], [], [], 0.05)[0]:
            ended, status = os.waitpid(job, os.WNOHANG)
            if ended:
                say(f"exit {os.waitstatus_to_exitcode(status)}")
                return
        if os.read(control, 80).strip() != b"fg":
            return
        _foreground(job)
        _tell(job, signal.SIGCONT)


def _tell(job: int, *numbers: signal.Signals) -> None:
    for number in numbers:
        try:
            os.killpg(job, number)
        except ProcessLookupError:
            return


def _foreground(group: int) -> None:
    try:
        os.tcsetpgrp(0, group)
    except OSError:
        return  # the terminal was closed


if __name__ == "__main__":
    main()
