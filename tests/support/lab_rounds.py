"""A lab that has bad days: a fake board, a server, a student and a teacher, each a process or a line of its own.

Everything is judged from the board's own trace, from the journals and from the audit. Linux only.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

from calibrations import calibrate_as_it_is
from kill_rounds import (
    FAKE_LATE_S,
    Lateness,
    Outcome,
    Program,
    Trace,
    allowed_step,
    await_that,
)
from soak_oracles import read_rig

from hil.errors import HilError
from hil.model.files import find
from hil.runtime import wiring
from hil.runtime.journal import Completeness, verify
from hil.service import audit_query
from hil.service.arms import BEAT_S
from hil.service.connection import list_arms
from hil.service.grants import Grant
from hil.service.keys import PublicKey, SigningKey
from hil.service.lab_request import Access, RefusedByLabError
from hil.service.remote import RemoteArm
from hil.service.rights import Role
from hil.service.setup import make_lab
from hil.service.tokens import issue
from hil.service.wire import LeaseBrief, LeasePhase
from hil.types import Mode

ARM = "left"
SILENT_S = 0.25
POLL_S = 0.02
QUIET_S = 1.0
"""After the arm has come to rest nothing may begin by itself for so long, whatever comes back."""

GRACE_S = 180.0
BACK_S = 40.0
"""A client that has lost its server is back by then."""

STUDENT_AXIS, TEACHER_AXIS = 0, 4
TRIES = 5
_SUPPORT = Path(__file__).parent
_TRACEBACK = "Traceback (most recent call last)"


class Cable:
    """A line between a client and the server that can be cut: bytes stay where they are, or everything is torn off."""

    def __init__(self, port: int) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._server.getsockname()[1])
        self._to, self._whole, self._over = port, threading.Event(), False
        self._whole.set()
        self._ends: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._server.accept()
                self._whole.wait()
                try:
                    far = socket.create_connection(("127.0.0.1", self._to))
                except OSError:
                    near.close()
                    continue
                self._ends += [near, far]
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self._whole.wait()
                sink.sendall(data)
        for each in (source, sink):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def cut(self) -> None:
        """Nothing comes through any more; nobody is told."""
        self._whole.clear()

    def mend(self, *, torn: bool) -> None:
        """Something comes through again: what was under way, late, or only what is sent anew."""
        if torn:
            for each in self._ends:
                with contextlib.suppress(OSError):
                    each.close()
            self._ends.clear()
        self._whole.set()

    def close(self) -> None:
        """No line any more."""
        self._server.close()
        self.mend(torn=True)


class Student:
    """A process that drives when told to."""

    def __init__(self, folder: Path, access: Access) -> None:
        self._err = (folder / f"student-{uuid.uuid4().hex[:8]}.err").open("wb")
        self.process = subprocess.Popen(
            [sys.executable, str(_SUPPORT / "lab_student.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._err,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        )
        self._said = b""
        about = {"url": access.url, "token": access.token, "certificate_sha256": access.certificate_sha256, "arm": ARM}
        self.tell(json.dumps(about))
        self.says("here", 20.0)

    def tell(self, line: str) -> None:
        """A line for it."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n".encode())
        self.process.stdin.flush()

    def says(self, word: str, within_s: float) -> None:
        """Wait for a line that begins with a word."""
        assert self.process.stdout is not None
        deadline_s = time.monotonic() + within_s
        while True:
            *lines, rest = self._said.split(b"\n")
            for index, line in enumerate(lines):
                if line.startswith(word.encode()):
                    self._said = b"\n".join([*lines[index + 1 :], rest])
                    return
            if time.monotonic() > deadline_s or self.process.poll() is not None:
                raise AssertionError(f"the student has not said {word!r}, but {self._said.decode()!r}")
            if select.select([self.process.stdout], [], [], 0.1)[0]:
                self._said += os.read(self.process.stdout.fileno(), 65536)

    def end(self) -> None:
        """Over."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        self.process.wait(5.0)
        for pipe in (self.process.stdin, self.process.stdout, self._err):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


class Lab:
    """Board, server, cable, teacher and student, up to an arm that the student drives.

    Args:
        folder: an empty one, for everything that is left behind.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.link = folder, folder / "arm"
        self.facts = read_rig(find("rigs", "lynx6"))
        rig = wiring.load_rig("lynx6", calibrated=False)
        self.stop_time_s = wiring.virtual_arm(rig, rig.park, energised=False, epoch_offset_s=0.0).bridge.stop_time_s
        calibrate_as_it_is(rig, folder / "config", str(self.link))
        self._trace = folder / "trace.jsonl"
        arguments = ("fake", "ssc32", "--rig", "lynx6", "--link", str(self.link), "--trace", str(self._trace))
        self.fake = Program(folder, "fake", *arguments)
        self.lateness = Lateness()
        self.fake.says("ready at", 20.0)
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port = int(found.getsockname()[1])
        self.seeds = (os.urandom(32), os.urandom(32))
        made = make_lab(folder / "lab", name="chaos", hosts=(), arms={ARM: "lynx6"}, seeds=self.seeds,
                        now_epoch_s=time.time(), port=self.port)  # fmt: skip
        self.fingerprint = made.fingerprint
        settings = folder / "lab" / "lab.toml"
        text = settings.read_text().replace("hardware = false", f'hardware = true\nport = "{self.link}"\n#')
        # A busy machine takes its time to start a server; what is judged is whom the arm waits for.
        text = text.replace("[lease]\n", f"[lease]\ngrace_s = {GRACE_S}\n")
        settings.write_text(text)
        self.cable = Cable(self.port)
        self.servers: list[Program] = []
        self.teacher: RemoteArm | None = None
        self.student: Student | None = None

    # -- people ------------------------------------------------------------------------------------------

    def token(self, user: str, role: Role, seconds: float = 36_000.0, *, on_site: bool = False) -> str:
        """A token that counts from now on, for whole seconds."""
        now_s = int(time.time())
        grant = Grant(
            token_id=uuid.uuid4().hex[:16],
            user=user,
            arms=(ARM,),
            role=role,
            speed_share=1.0,
            box=None,
            issued_s=now_s,
            not_before_s=now_s - 5,
            expires_s=now_s + int(seconds),
            on_site=on_site,
        )
        return issue(grant, SigningKey(self.seeds[0]))

    def access(self, token: str, *, by_cable: bool = False) -> Access:
        """How to get in."""
        port = self.cable.port if by_cable else self.port
        return Access(url=f"https://127.0.0.1:{port}", token=token, certificate_sha256=self.fingerprint)

    # -- life --------------------------------------------------------------------------------------------

    def serve(self) -> Program:
        """Start a server, and wait until the arm is there; it is never in motion then."""
        server = Program(self.folder, f"serve-{len(self.servers)}", "serve", "--lab", str(self.folder / "lab"))
        self.servers.append(server)
        server.says("serving ", 30.0)
        watcher = self.access(self.token("door", Role.WATCH))

        def there() -> bool:
            with contextlib.suppress(HilError):
                return list_arms(watcher).arms[0].mode not in (Mode.DISCONNECTED, Mode.CONNECTING)
            return False

        await_that(there, 60.0, "the arm is not there")
        server.remember_family()
        return server

    @property
    def mode(self) -> Mode:
        """What the server says."""
        return list_arms(self.access(self.token("door", Role.WATCH))).arms[0].mode

    @property
    def lease(self) -> LeaseBrief:
        """What everybody is told."""
        return list_arms(self.access(self.token("door", Role.WATCH))).arms[0].lease

    def make_ready(self) -> None:
        """The teacher, beside the arm, confirms its pose if need be, parks it, and goes away."""
        with RemoteArm(self.access(self.token("teacher", Role.TEACH, on_site=True)), ARM, on_site=True) as teacher:
            self._take(teacher)
            if teacher.channel.lease is not None and teacher.channel.lease.lease.latched:
                teacher.reset()
            _until_it_ends_in_idle(teacher, teacher.confirm, lambda: teacher.mode is not Mode.UNKNOWN_POSE)
            _until_it_ends_in_idle(teacher, lambda: teacher.park(speed_percent=100.0))
        door = self.access(self.token("door", Role.WATCH))
        await_that(lambda: list_arms(door).arms[0].lease.phase is LeasePhase.FREE, 10.0, "the arm is not free")

    def _take(self, teacher: RemoteArm) -> None:
        """Become the driver, whoever is."""
        await_that(lambda: teacher.channel.lease is not None, 5.0, "no word about the lease")
        deadline_s = time.monotonic() + 10.0
        while True:
            try:
                teacher.take_over("to park it")
                return
            except HilError as taking:
                try:
                    teacher.claim()
                    return
                except HilError as claiming:
                    if time.monotonic() > deadline_s:
                        raise AssertionError(f"the teacher gets no lease: {taking}; {claiming}") from None
                    time.sleep(0.3)

    def drive(self, rng: random.Random, token: str = "", within_s: float = 4.0) -> None:
        """Have the student jog the arm, or lead it by targets, up to a random moment."""
        if token or self.student is None or self.student.process.poll() is not None:
            if self.student is not None:
                self.student.end()
            self.student = Student(self.folder, self.access(token or self.token("student", Role.DRIVE), by_cable=True))
        self.student.tell(rng.choice(("jog", "lead")))
        self.student.says("driving", 20.0)
        time.sleep(rng.uniform(0.2, within_s))

    def rest(self) -> Trace:
        """The trace once nothing has moved for a while."""
        size = -1
        while size != (size := self._trace.stat().st_size):
            time.sleep(0.2)
        return Trace(self._trace, self.facts)

    def bound_s(self, since_s: float, notice_s: float) -> float:
        """Promised time until the last pulse changes."""
        end_s = self.facts.end_time_s + FAKE_LATE_S
        return notice_s + self.facts.period_s + self.stop_time_s + end_s + self.lateness.worst_s(since_s)

    def judge_steps(self, outcome: Outcome, trace: Trace, blow_s: float) -> None:
        """No pulse jumps, from a second before it on."""
        since_s = blow_s - 1.0
        allowed = allowed_step(self.facts, self.lateness.worst_s(since_s))
        outcome.within("step per frame, of the limit", trace.worst_step(since_s), allowed)

    def close(self) -> None:
        """Clear up."""
        self.cable.close()
        if self.student is not None:
            self.student.end()
        for server in self.servers:
            server.clear_up()
        self.lateness.stop()
        self.fake.clear_up()


@contextlib.contextmanager
def lab(folder: Path) -> Iterator[Lab]:
    """A lab whose arm is parked and free, cleared up at the end."""
    made = Lab(folder)
    try:
        made.serve()
        made.make_ready()
        yield made
    finally:
        made.close()


def _until_it_ends_in_idle(
    teacher: RemoteArm, act: Callable[[], Mode], is_so: Callable[[], bool] = lambda: False
) -> None:
    """Whoever was not heard for a moment, because the machine was busy, presses again; this is not what is judged."""
    for _ in range(TRIES):
        with contextlib.suppress(RefusedByLabError):
            if is_so() or act() is Mode.IDLE:
                return
    raise AssertionError(f"not ready: {teacher.mode.value}: {teacher.channel.since(0)[-5:]}")


# -- bad days --------------------------------------------------------------------------------------------


def _judge_stop(outcome: Outcome, stage: Lab, since_s: float, notice_s: float) -> Trace:
    """The arm is at rest in time, holds everything, and nothing begins by itself afterwards."""
    time.sleep(QUIET_S)
    trace = stage.rest()
    bound_s = stage.bound_s(since_s, notice_s)
    outcome.within("last pulse after it, s", trace.last_pulse_change_s(since_s) - since_s, bound_s)
    outcome.within("arm at rest after it, s", trace.last_motion_s(since_s) - since_s, bound_s + stage.facts.settle_s)
    stage.judge_steps(outcome, trace, since_s)
    outcome.hold(all(trace.pulses), f"an axis is driven no more: {trace.pulses}")
    return trace


def network_cut(stage: Lab, rng: random.Random) -> Outcome:
    """The line goes dead, and comes back with what was under way, or without."""
    outcome = Outcome("network cut")
    stage.drive(rng)
    cut_s = time.monotonic()
    stage.cable.cut()
    time.sleep(rng.uniform(0.3, 3.5))
    stage.cable.mend(torn=rng.random() < 0.5)
    _judge_stop(outcome, stage, cut_s, SILENT_S + BEAT_S + POLL_S)
    return outcome


def client_killed(stage: Lab, rng: random.Random) -> Outcome:
    """The student's process is gone."""
    outcome = Outcome("client killed")
    stage.drive(rng)
    assert stage.student is not None
    killed_s = time.monotonic()
    stage.student.process.kill()
    _judge_stop(outcome, stage, killed_s, SILENT_S + BEAT_S + POLL_S)
    return outcome


def client_frozen(stage: Lab, rng: random.Random) -> Outcome:
    """The student's process stands still for a while, and goes on as if nothing had been."""
    outcome = Outcome("client frozen")
    stage.drive(rng)
    assert stage.student is not None
    frozen_s = time.monotonic()
    stage.student.process.send_signal(signal.SIGSTOP)
    time.sleep(rng.uniform(0.4, 3.5))
    stage.student.process.send_signal(signal.SIGCONT)
    _judge_stop(outcome, stage, frozen_s, SILENT_S + BEAT_S + POLL_S)
    return outcome


def taken_over(stage: Lab, rng: random.Random) -> Outcome:
    """A teacher takes the arm, and moves another axis; what the student goes on to send moves nothing."""
    outcome = Outcome("lease taken over")
    stage.drive(rng)
    with RemoteArm(stage.access(stage.token("teacher", Role.TEACH, on_site=True)), ARM, on_site=True) as teacher:
        asked_s = time.monotonic()
        teacher.take_over("a lesson")
        moved = teacher.jog(wrist_rotate=5.0)
        outcome.hold(moved is Mode.IDLE, f"the teacher's jog ended in {moved.value}")
        time.sleep(QUIET_S)
        trace = stage.rest()
        bound_s = stage.bound_s(asked_s, BEAT_S + POLL_S)
        last_s = _last_change_s(trace, STUDENT_AXIS, asked_s)
        outcome.within("last pulse of the student's axis, s", last_s - asked_s, bound_s)
        teachers_s = _last_change_s(trace, TEACHER_AXIS, asked_s)
        outcome.hold(teachers_s > last_s, "the last byte was not the teacher's")
        stage.judge_steps(outcome, trace, asked_s)
    return outcome


def _last_change_s(trace: Trace, axis: int, since_s: float) -> float:
    last_s, before = since_s, None
    for time_s, pulses, _ in trace.frames:
        if before is not None and pulses[axis] != before and time_s > since_s:
            last_s = time_s
        before = pulses[axis]
    return last_s


def token_expired(stage: Lab, rng: random.Random) -> Outcome:
    """The student's token ends while the arm moves."""
    outcome = Outcome("token expired")
    token = stage.token("student", Role.DRIVE, rng.randint(9, 12))
    ends_epoch_s = int(json.loads(_payload(token))["exp"])
    stage.drive(rng, token, within_s=1.0)
    ends_s = ends_epoch_s - time.time() + time.monotonic()
    outcome.hold(ends_s > time.monotonic(), "the token ended before the student drove; no round")
    time.sleep(max(0.0, ends_s - time.monotonic()))
    _judge_stop(outcome, stage, ends_s, SILENT_S + BEAT_S + POLL_S)
    assert stage.student is not None
    stage.student.end()
    stage.student = None
    return outcome


def _payload(token: str) -> bytes:
    import base64

    part = token.split(".")[1]
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def server_killed(stage: Lab, rng: random.Random) -> Outcome:
    """SIGKILL for the server; a new one does not know where the arm is, moves nothing, and waits for the student."""
    return _restart(stage, rng, "server killed", signal.SIGKILL)


def server_restarted(stage: Lab, rng: random.Random) -> Outcome:
    """SIGTERM for the server, as an update does it."""
    return _restart(stage, rng, "server restarted", signal.SIGTERM)


def _restart(stage: Lab, rng: random.Random, name: str, number: signal.Signals) -> Outcome:
    outcome = Outcome(name)
    stage.drive(rng)
    before = stage.lease
    server = stage.servers[-1]
    server.remember_family()
    journal = max((stage.folder / "lab" / "journals").glob("*.mcap"), key=lambda path: path.stat().st_mtime)
    ended_s = time.monotonic()
    server.process.send_signal(number)
    trace = _judge_stop(outcome, stage, ended_s, SILENT_S + BEAT_S + POLL_S)
    server.ends(30.0)
    said = server.err.read_text()
    outcome.hold(_TRACEBACK not in said, f"a traceback was printed: {said}")
    verdict = verify(journal)
    outcome.hold(verdict.completeness is Completeness.COMPLETE, f"the journal is {verdict.text}")
    outcome.hold(verdict.lost == 0, f"{verdict.lost} ticks are missing in the journal")
    _judge_audit(outcome, stage)
    stage.serve()
    await_that(lambda: stage.mode is not Mode.CONNECTING, 20.0, "still connecting")
    outcome.hold(stage.mode is Mode.UNKNOWN_POSE, f"the arm came back in {stage.mode.value}")
    time.sleep(QUIET_S)
    outcome.hold(stage.rest().pulses == trace.pulses, "a pulse changed by the new start")
    _judge_lease(outcome, stage, rng, before.epoch)
    outcome.hold(stage.rest().pulses == trace.pulses, "a pulse changed by who came back")
    return outcome


def _judge_lease(outcome: Outcome, stage: Lab, rng: random.Random, epoch: int) -> None:
    """The arm waits for the student who had it, and for nobody else; what comes back is the lease alone."""
    with RemoteArm(stage.access(stage.token("another", Role.DRIVE)), ARM) as other:
        try:
            other.claim(within_s=1.0)
            outcome.hold(False, "somebody else has got the arm")
        except HilError as error:
            outcome.hold("student" in str(error), f"it is not kept for the student: {error}")
        await_that(lambda: stage.lease.phase is LeasePhase.HELD, BACK_S, "the student has not got the arm back")
        lease = stage.lease
        outcome.hold(lease.holder == "student", f"{lease.holder or 'nobody'} has the arm")
        outcome.hold(lease.epoch > epoch, f"epoch {lease.epoch} after {epoch}")
        outcome.hold(stage.mode is Mode.UNKNOWN_POSE, f"the arm is {stage.mode.value} before anybody confirmed it")
        if rng.random() < 0.5:
            other.stop("a stop by anybody")
            await_that(lambda: bool(stage.lease.latched), 5.0, "the stop does not latch")


def _judge_audit(outcome: Outcome, stage: Lab) -> None:
    folder = stage.folder / "lab"
    found = audit_query.verify(folder / "audit", PublicKey.load(folder / "keys" / "audit.pub"))
    outcome.hold(found.whole, f"the audit: {found.text}")


ROUNDS: tuple[Callable[[Lab, random.Random], Outcome], ...] = (
    network_cut,
    client_killed,
    client_frozen,
    taken_over,
    token_expired,
    server_killed,
    server_restarted,
)
