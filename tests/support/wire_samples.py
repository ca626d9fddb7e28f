"""One example of every message of the service's protocol; run it to write the golden files anew."""

from pathlib import Path

from hil.refusal import Refusal
from hil.service import wire
from hil.service.rights import Role
from hil.types import AxisJog, JogFrame, Mode, StateSource, Supply, ToolGoal, ToolJog

GOLDEN = Path(__file__).parents[1] / "service" / "golden"
DIGEST = "0123456789abcdef" * 4

_REFUSAL = Refusal(
    check="E-02",
    subject="elbow",
    limit="upper limit 85.0 deg",
    margin=-2.5,
    unit="deg",
    nearest_allowed="85.0 deg",
    advice="Choose a nearer target.",
    sample=12,
    time_s=0.24,
    place="step 3 (line)",
)
_LEASE = wire.LeaseBrief(phase=wire.LeasePhase.HELD, epoch=42, holder="Ada", slot_left_s=321.5, waiting=2)
_STOP = wire.StopBudget(
    input_ms=130.0,
    loop_ms=21.0,
    queue_ms=80.0,
    wire_ms=3.5,
    ramp_ms=280.0,
    servo_ms=150.0,
    total_ms=664.5,
    distance_mm=20.0,
    clearance_mm=50.0,
    speed_share=0.4,
)
_RULES = wire.Rules(
    beat_every_s=0.1,
    stop_after_s=0.25,
    suspend_after_s=2.0,
    hold_every_s=0.05,
    command_age_s=0.5,
    picture_age_s=2.0,
    picture_needed=True,
    unchanged_s=10.0,
    planned_unchanged_s=60.0,
)


def _command(seq: int) -> dict[str, object]:
    return {"seq": seq, "arm": "lynx6", "epoch": 42, "issued_s": 1000.25, "picture_s": 1000.0}


CLIENT: tuple[wire.ClientMessage, ...] = (
    wire.Hello(seq=1, speaks=(1,), arm="lynx6", token="header.claims.signature", client="hil 0.1.0"),
    wire.Watch(seq=2, rate_hz=10.0),
    wire.Stop(seq=3, reason="it comes too near"),
    wire.EmergencyStop(seq=4, reason="smoke"),
    wire.SupplyCut(seq=24, reason="somebody pulled the plug"),
    wire.Claim(seq=5, wait=True),
    wire.Beat(seq=6, arm="lynx6", epoch=42, held=True, issued_s=1000.25, changed_s=993.5, reported_s=1000.2),
    wire.Renew(seq=7, arm="lynx6", epoch=42, minutes=10.0),
    wire.Release(seq=8, arm="lynx6", epoch=42),
    wire.TakeOver(seq=9, reason="end of the lesson", keep_booking=False),
    wire.Freeze(seq=10, everywhere=True, reason="a hand in a fence"),
    wire.Thaw(seq=11, everywhere=True),
    wire.Tell(seq=31, text="five more minutes"),
    wire.Reset(**_command(12)),  # type: ignore[arg-type]
    wire.Confirm(**_command(13), positions=(0.0, 1.5, -1.5, 0.0, 0.0, 0.02), supply_on=True),  # type: ignore[arg-type]
    wire.ArmJog(**_command(14), speed_share=0.25),  # type: ignore[arg-type]
    wire.FollowTarget(  # type: ignore[arg-type]
        **_command(30), target=ToolGoal(position_m=(0.18, 0.0, 0.12), pitch=-0.7, opening_m=0.01)
    ),
    wire.JogHold(  # type: ignore[arg-type]
        **_command(15), move=ToolJog(frame=JogFrame.WORLD, linear=(0.0, 0.0, 0.05))
    ),
    wire.JogRelease(**_command(16)),  # type: ignore[arg-type]
    wire.JogStep(**_command(17), move=AxisJog(amounts=(0.1, 0.0, 0.0, 0.0, 0.0, 0.0))),  # type: ignore[arg-type]
    wire.ArmMotion(**_command(18), digest=DIGEST),  # type: ignore[arg-type]
    wire.Start(**_command(19), digest=DIGEST),  # type: ignore[arg-type]
    wire.Go(**_command(20), to="park", speed_share=0.5),  # type: ignore[arg-type]
    wire.Gripper(**_command(21), opening_m=0.02, speed_share=0.5),  # type: ignore[arg-type]
    wire.LeaveQueue(seq=22),
    wire.SelfTest(**_command(23), speed_share=0.5),  # type: ignore[arg-type]
    wire.GoLimp(**_command(25), axis="shoulder"),  # type: ignore[arg-type]
)

SERVER: tuple[wire.ServerMessage, ...] = (
    wire.Welcome(
        speaks=1,
        server="hil 0.1.0",
        now_s=1000.0,
        now_epoch_s=1790000000.0,
        arm="lynx6",
        title="Lynx6 by the window",
        robot="lynx6",
        real=True,
        axes=(
            wire.AxisInfo(name="base", kind="revolute", lower=-1.5, upper=1.5, speed=1.0, home=0.0, park=0.0),
            wire.AxisInfo(name="gripper", kind="gripper", lower=0.0, upper=0.04, speed=0.03, home=0.02, park=0.02),
        ),
        period_s=0.02,
        rules=_RULES,
        role=Role.DRIVE,
        name="Ada",
        speed_share=0.5,
        until_epoch_s=1790003600.0,
        camera=True,
    ),
    wire.Accepted(to=14, now_s=1000.3, speed_share=0.25, text="armed for jogging"),
    wire.Refused(
        to=17,
        now_s=1000.3,
        code=wire.Code.PREVIEW,
        reason="the jog step is refused",
        missing=("another way",),
        findings=(_REFUSAL,),
    ),
    wire.BeatSeen(to=6, now_s=1000.3, held=True),
    wire.LeaseNews(now_s=1000.3, lease=_LEASE, yours=True, reason="Ada drives"),
    wire.Notice(now_s=1000.3, kind=wire.NoticeKind.SLOT_ENDS, text="the slot ends in 60 s", left_s=60.0),
    wire.Holding(
        now_s=1000.3,
        supply=Supply.ON,
        driven=("shoulder", "elbow"),
        held_s=605.5,
        remind=True,
        loads=(
            wire.AxisLoad(axis="shoulder", torque=-0.62, share=0.56, heavy=True),
            wire.AxisLoad(axis="elbow", torque=0.2),
        ),
        basis="an estimate from the masses of robot lynx6, gripper empty",
        next=wire.NextLimp(axis="elbow", text="The elbow is let go of: it sinks", after=("shoulder",)),
    ),
    wire.Presence(now_s=1000.3, words="starting: its worker comes up", starting_s=12.3),
    wire.Bye(now_s=1000.3, code=wire.Code.LEASE, reason="a teacher has taken over"),
    wire.Telemetry(
        frame=7,
        now_s=1000.3,
        tick=1234,
        t_s=1000.29,
        mode=Mode.STREAMING,
        commanded=(0.1, 0.02),
        simulated=(0.09, 0.02),
        reported=(0.1, None),
        source=StateSource.ECHOED,
        reported_s=0.04,
        tool_m=(0.2, 0.0, 0.1),
        speed_share=0.4,
        wire_share=0.17,
        timing=wire.Timing(late_ms=0.2, work_ms=1.5, missed=0),
        stop=_STOP,
        lease=_LEASE,
        picture_age_s=0.2,
        progress=0.5,
        refusal="picture 3.0 s old; allowed: 2 s",
        errors=(0.05, None),
        bands=(0.2, 0.004),
        used=(0.25, None),
        alarm="base: the controller reports 3 deg, the shadow was between 0 and 0 deg",
        lamp=wire.Lamp.ALARM,
        rest=(0.12, 0.02),
    ),
)

BODIES: dict[str, object] = {
    "booking_wish": wire.BookingWish(arm="lynx6", begin_epoch_s=1790000000.0, minutes=30.0),
    "upload": wire.Upload(arm="lynx6", language="task", name="pick.toml", text='rig = "lynx6"\n'),
    "lab": wire.Lab(
        server="hil 0.1.0",
        now_s=1000.3,
        now_epoch_s=1790000000.0,
        arms=(
            wire.ArmSummary(
                arm="lynx6",
                title="Lynx6 by the window",
                robot="lynx6",
                real=True,
                mode=Mode.FAULT,
                lease=_LEASE,
                bookable=False,
                why_not="the line is lost",
                camera=True,
                watchers=3,
                self_test=wire.SelfTestBrief(at_epoch_s=1789990000.0, how="positions echoed"),
                lamp=wire.Lamp.FAULT,
            ),
        ),
    ),
    "bookings": wire.Bookings(
        arm="lynx6",
        bookable=True,
        bookings=(
            wire.Booking(
                id="b7", arm="lynx6", begin_epoch_s=1790000000.0, end_epoch_s=1790001800.0, name="Ada", yours=True
            ),
        ),
        granted="b7",
        self_test=wire.SelfTestBrief(due=True, at_epoch_s=1789990000.0, failure="base stands still"),
    ),
    "previewed": wire.Previewed(
        arm="lynx6",
        ok=True,
        digest=DIGEST,
        certificate=b'{"digest":"..."}',
        certificate_digest=DIGEST[::-1],
        until_epoch_s=1.8e9,
        made_for="Ada",
        start=(0.0, 1.5, -1.5, 0.0, 0.0, 0.02),
        start_within=(0.0087, 0.0087, 0.0087, 0.0087, 0.0087, 0.0005),
        duration_s=4.2,
        peak_share=0.6,
        notes=("elbow passes the table at 31 mm",),
        timeline=DIGEST,
    ),
    "timeline": wire.Timeline(
        arm="lynx6",
        name=DIGEST,
        period_s=0.02,
        complete=False,
        samples=(0, 1, 2),
        positions=(
            (0.0, 1.5, -1.5, 0.0, 0.0, 0.02),
            (0.0, 1.5, -1.49, 0.0, 0.0, 0.02),
            (0.0, 1.5, -1.47, 0.0, 0.0, 0.02),
        ),
        lanes=(
            wire.Lane(
                check="E-10",
                name="table",
                unit="mm",
                subjects=("hand and table", "forearm and table"),
                margins=(None, 3.5, -1.25),
                which=(0, 1, 0),
            ),
        ),
        failures=(
            wire.Failure(
                check="E-10",
                subject="hand and table",
                limit="clearance 10 mm",
                unit="mm",
                nearest_allowed="10 mm apart",
                first=2,
                last=2,
                worst=2,
                margin=-1.25,
                place="step 1 (joint)",
            ),
        ),
        stages=(wire.Stage(first=0, last=2, place="step 1 (joint)", label="down"),),
    ),
    "pulled_rig": wire.PulledRig(
        arm="lynx6", digest=DIGEST, files=(wire.RigFile(name="rigs/lynx6.toml", text='title = "Lynx6"\n'),)
    ),
    "skeleton": wire.Skeleton(
        arm="slider",
        base=(1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.05),
        rows=(
            wire.LinkRow(revolute=True, theta=0.0, d=0.1, a=0.2, alpha=1.5, sign=-1.0),
            wire.LinkRow(revolute=False, theta=0.5, d=0.0, a=0.0, alpha=0.0, sign=1.0),
        ),
        tool=(1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.03),
        table_m=0.0,
        reach_m=0.5,
        solids=(wire.SolidPart(link=2, vertices=bytes(36), faces=bytes((0, 0, 1, 0, 2, 0)), side=1),),
        finger_apart_m=0.01,
    ),
}


def write() -> None:
    """Write the golden files; what changes has to be looked at, and may need a new version of the protocol."""
    for side, messages in (("client", CLIENT), ("server", SERVER)):
        for message in messages:
            kind = type(message).__struct_config__.tag
            (GOLDEN / f"{side}-{kind}.json").write_bytes(wire.encode(message) + b"\n")
    for name, body in BODIES.items():
        (GOLDEN / f"body-{name}.json").write_bytes(wire.encode(body) + b"\n")  # type: ignore[arg-type]


if __name__ == "__main__":
    write()
