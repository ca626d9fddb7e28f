"""Who gets in at a lab's server, what is told to whom, and what strangers, floods and foreign pages get."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import time
from pathlib import Path

import msgspec
import pytest
from aiohttp import WSMsgType
from lab_server import LOCAL, PATIENCE_S, PATIENT, TOKEN_KEY, Served, run, served
from tokens_of_people import grant, token

from hil.runtime.wiring import load_rig
from hil.service import places, wire
from hil.service.audit_query import query, verify
from hil.service.bookings import BookingRules
from hil.service.client import AsyncArm
from hil.service.connection import list_arms, reach
from hil.service.doors import FAILURES, FAILURES_S, Door, TooManyRefusedError
from hil.service.keys import SigningKey
from hil.service.lab_request import RefusedByLabError
from hil.service.local_key import LocalKey, local_key
from hil.service.revocation import HEADING, Revocations, revoke
from hil.service.rights import Role
from hil.service.tokens import TokenChecker, TokenError, issue
from hil.service.wire import PICTURE_HEADER

pytestmark = pytest.mark.wall_clock

TASK = 'title = "a wave"\n[[step]]\ndo = "move"\nto = "home"\nspeed_percent = 30\n'


def bearer(text: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {text}"}


def test_without_a_token_or_with_a_wrong_one_nothing_is_told(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path, keyed=True) as lab:
            late = {"not_before_s": 1000, "issued_s": 1000, "expires_s": 2000}
            forged = issue(grant("Eve"), SigningKey(b"e" * 32))
            for text in ("", "nonsense", forged, token("Eve")[:-2], token("Eve", **late)):
                for path in ("/v1/lab", "/v1/arms/arm-1/state", "/v1/arms/arm-1/rig", "/v1/audit", "/v1/journals"):
                    status, answer = await lab.get(path, headers=bearer(text))
                    assert status == 401
                    assert (answer["type"], answer["code"]) == ("refused", "token")
                    assert "arm-1" not in answer["reason"]
                person = await lab.join(token=text)
                assert person.welcome is None
                assert person.bye is not None
                assert person.bye["code"] == "token"

    run(story)


def test_whoever_shares_an_address_with_a_guesser_comes_in_all_the_same(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path, keyed=True) as lab:
            for _ in range(FAILURES):
                assert (await lab.get("/v1/lab", headers=bearer("nonsense")))[0] == 401
            assert (await lab.get("/v1/lab", headers=bearer("nonsense")))[0] == 429
            assert (await lab.get("/v1/lab", headers=bearer(token("Tia", Role.TEACH))))[0] == 200
            assert (await lab.join(token=token("Dee"))).welcome is not None
            guesser = await lab.join(token="nonsense")
            assert guesser.bye is not None
            assert guesser.bye["code"] == "rate"

    run(story)


def test_after_many_refused_tokens_nothing_tells_one_that_counted_once_from_one_that_never_did(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path, keyed=True) as lab:
            late = token("Eve", not_before_s=1000, issued_s=1000, expires_s=2000)
            revoke(tmp_path / "revoked.txt", grant("Ray").token_id, time.time() + 600, "lost")
            texts = ("nonsense", issue(grant("Eve"), SigningKey(b"e" * 32)), late, token("Ray"))
            for _ in range(FAILURES):
                await lab.get("/v1/lab", headers=bearer("nonsense"))
            answers = [await lab.get("/v1/lab", headers=bearer(text)) for text in texts]
            assert {status for status, _ in answers} == {429}
            assert len({(answer["code"], answer["reason"]) for _, answer in answers}) == 1

    run(story)


def test_refused_tokens_of_one_address_do_not_count_for_another_and_are_forgotten_after_a_while(tmp_path: Path) -> None:
    (tmp_path / "revoked.txt").write_text(HEADING)
    door = Door(TokenChecker([TOKEN_KEY.public], Revocations(tmp_path / "revoked.txt")))

    def refusal(origin: str, now_s: float) -> type[TokenError]:
        with pytest.raises(TokenError) as refused:
            door.admit("x", name="", says_on_site=False, origin=origin, now_s=now_s, now_epoch_s=time.time())
        return type(refused.value)

    assert {refusal("10.0.0.1", 0.0) for _ in range(FAILURES)} == {TokenError}
    assert refusal("10.0.0.1", FAILURES_S) is TooManyRefusedError
    assert refusal("10.0.0.2", FAILURES_S) is TokenError
    assert refusal("10.0.0.1", FAILURES_S + 1.0) is TokenError


def test_with_all_channels_taken_the_driver_comes_back_and_a_teacher_in_and_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "MOST_OF_ONE_ADDRESS", 3)

    async def story() -> None:
        async with served(tmp_path, arms=2, keyed=True) as lab:
            await lab.ready()
            driver = await lab.join(token=token("Dee"))
            await driver.drive()
            watchers = [await lab.join(token=token("Wu", Role.WATCH)) for _ in range(2)]
            assert all(watcher.welcome for watcher in watchers)
            # The line before this one has not been noticed to be dead.
            driver.fall_silent()
            back = await lab.join(token=token("Dee"))
            assert back.welcome is not None
            assert (await back.ask("claim"))["type"] == "accepted"
            await back.until(lambda: back.yours)
            await driver.until(lambda: driver.closed)
            teacher = await lab.join(token=token("Tia", Role.TEACH))
            assert teacher.welcome is not None
            both = ("arm-1", "arm-2")
            others = {
                "watcher": await lab.join(token=token("Wu", Role.WATCH)),
                "driver of nothing": await lab.join(token=token("Eve")),
                "driver of another arm": await lab.join("arm-2", token=token("Dee", arms=both)),
            }
            refused = {who: other.bye and other.bye["code"] for who, other in others.items()}
            assert refused == dict.fromkeys(others, "busy")

    run(story)


def test_a_driver_whose_lease_is_suspended_comes_back_with_all_channels_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "MOST_OF_ONE_ADDRESS", 2)

    async def story() -> None:
        async with served(tmp_path, keyed=True) as lab:
            await lab.ready()
            driver, watcher = await lab.join(token=token("Dee")), await lab.join(token=token("Wu", Role.WATCH))
            await driver.drive()
            await driver.leave()
            await watcher.until(lambda: watcher.lease["phase"] == "suspended")
            assert (await lab.join(token=token("Wu", Role.WATCH))).welcome is not None
            back = await lab.join(token=token("Dee"))
            assert (await back.ask("claim"))["type"] == "accepted"
            await back.until(lambda: back.yours)

    run(story)


def test_whoever_opens_channels_and_says_nothing_keeps_the_driver_out_no_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "MOST_OF_ONE_ADDRESS", 1)
    monkeypatch.setattr(places, "MOST_UNHEARD", 2)

    async def story() -> None:
        async with served(tmp_path, keyed=True) as lab:
            await lab.ready()
            driver = await lab.join(token=token("Dee"))
            await driver.drive()
            mute = [await lab.session.ws_connect(f"{lab.url}/v1/channel") for _ in range(4)]
            assert (await lab.join(token=token("Dee"))).welcome is not None
            assert (await mute[0].receive()).type in (WSMsgType.CLOSED, WSMsgType.CLOSE, WSMsgType.ERROR)
            for socket in mute:
                await socket.close()

    run(story)


def test_a_token_shows_its_own_arm_alone_and_allows_what_its_role_says(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path, arms=2, keyed=True) as lab:
            await lab.ready()
            watcher = bearer(token("Wu", Role.WATCH))
            status, found = await lab.get("/v1/lab", headers=watcher)
            assert (status, [arm["arm"] for arm in found["arms"]]) == (200, ["arm-1"])
            hidden, missing = [await lab.get(f"/v1/arms/{arm}/state", headers=watcher) for arm in ("arm-2", "arm-9")]
            assert hidden[0] == missing[0] == 404
            assert hidden[1]["reason"] == missing[1]["reason"]
            assert (await lab.get("/v1/audit", headers=watcher))[0] == 403
            person = await lab.join(token=token("Wu", Role.WATCH))
            assert (await person.ask("claim"))["code"] == "role"
            other = await lab.join("arm-2", token=token("Wu", Role.WATCH))
            assert other.bye is not None
            assert other.bye["code"] == "arm"

    run(story)


def test_a_token_that_is_revoked_while_its_bearer_drives_is_cut_and_the_arm_held(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path, keyed=True) as lab:
            await lab.ready()
            person, onlooker = await lab.join(token=token("Dee")), await lab.join(token=token("Wu", Role.WATCH))
            await person.drive()
            revoke(tmp_path / "revoked.txt", grant("Dee").token_id, time.time() + 600, "lost")
            await person.until(lambda: person.closed)
            assert person.bye is not None
            assert person.bye["code"] == "token"
            await onlooker.until(lambda: onlooker.lease["phase"] == "suspended")

    run(story)


def test_a_token_s_speed_holds_for_jogs_and_for_previews(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path, keyed=True) as lab:
            await lab.ready()
            slow = {"speed_share": 0.2}
            person = await lab.join(token=token("Dee", **slow))
            await person.drive()
            assert (await person.order("arm_jog", speed_share=1.0))["speed_share"] <= 0.2
            upload = {"arm": "arm-1", "language": "task", "name": "wave", "text": TASK}
            answer = await post(lab, "/v1/previews", token("Dee", **slow), upload)
            assert not answer["ok"]
            assert "the token allows 20 %" in answer["notes"][0]

    run(story)


def test_a_previewed_task_is_run_by_its_holder_alone(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path, keyed=True) as lab:
            await lab.ready()
            upload = {"arm": "arm-1", "language": "task", "name": "wave", "text": TASK}
            previewed = await post(lab, "/v1/previews", token("Dee"), upload)
            assert previewed["ok"], previewed
            other = await lab.join(token=token("Eve"))
            await other.drive()
            assert (await other.order("arm_motion", digest=previewed["digest"]))["code"] == "preview"
            await other.leave()
            teacher = await lab.join(token=token("Tia", Role.TEACH))
            assert (await teacher.ask("take_over"))["type"] == "accepted"
            await teacher.until(lambda: teacher.yours)
            await teacher.ask("release", arm="arm-1", epoch=teacher.lease["epoch"])
            holder = await lab.join(token=token("Dee"))
            await holder.drive()
            assert (await holder.order("arm_motion", digest=previewed["digest"]))["type"] == "accepted"
            again = await holder.order("arm_motion", digest=previewed["digest"])
            assert "less than 1 s ago" in again["reason"]
            assert (await holder.order("start", digest=previewed["digest"]))["type"] == "accepted"
            await holder.until(lambda: any("motion is done" in notice["text"] for notice in holder.notices))

    run(story)


def test_what_cannot_be_planned_is_refused_with_words_and_executes_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:
            await lab.ready()
            texts = (
                "import os",
                "title = 1",
                '[[step]]\ndo = "run"\n',
                TASK.replace('"home"', '"/etc/passwd"'),
                "\x00",
            )
            for text in texts:
                upload = {"arm": "arm-1", "language": "task", "name": "bad", "text": text}
                answer = await post(lab, "/v1/previews", "", upload)
                assert not answer["ok"]
                assert answer["notes"]
            for language in ("python", "curve"):
                upload = {"arm": "arm-1", "language": language, "name": "bad", "text": ""}
                assert (await post(lab, "/v1/previews", "", upload, 400))["code"] == "malformed"

    run(story)


FOREIGN = (
    "https://evil.example",
    "http://evil.example:{port}",
    "https://127.0.0.1:{port}",
    "http://127.0.0.1",
    "http://127.0.0.1:3000",
    "http://localhost:{port}",
    "http://[::1]:{port}",
    "http://127.0.0.1:{port}.evil.example",
    "http://user@127.0.0.1:3000",
    "null",
    "",
    "http://[",
)
"""What a browser says of pages that are not this server's own; the last is what none would say."""


@pytest.mark.parametrize("keyed", [False, True])
def test_pages_of_another_scheme_host_or_port_get_nothing_even_with_the_key(tmp_path: Path, keyed: bool) -> None:
    async def story() -> None:
        async with served(tmp_path, keyed=keyed) as lab:
            port = lab.url.rpartition(":")[2]
            credentials = bearer(token("Dee") if keyed else LOCAL.text)
            for origin in FOREIGN:
                page = {"Origin": origin.format(port=port), **credentials}
                for path in ("/v1/lab", "/v1/arms/arm-1/state", "/v1/channel"):
                    status, answer = await lab.get(path, headers=page)
                    assert (status, answer["code"]) == (403, "role"), origin
            own = {"Origin": f"http://127.0.0.1:{port}", **credentials}
            assert (await lab.get("/v1/lab", headers=own))[0] == 200

    run(story)


def test_without_a_lab_s_keys_it_answers_to_names_of_this_computer_alone(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:
            assert (await lab.get("/v1/lab", headers={"Host": "evil.example"}))[0] == 403
            assert (await lab.get("/v1/lab", headers={"Host": "localhost:1"}))[0] == 200

    run(story)


def test_without_a_lab_s_keys_only_who_has_the_key_of_its_start_gets_anything(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:
            for text in ("", "nonsense", LOCAL.text[:-1], LOCAL.text + "x", token("Dee")):
                for path in ("/v1/lab", "/v1/arms/arm-1/state", "/v1/audit"):
                    status, answer = await lab.get(path, headers=bearer(text))
                    assert (status, answer["code"]) == (401, "token")
                    assert "the address that `hil serve` has printed" in answer["reason"]
                person = await lab.join(token=text)
                assert person.bye is not None and person.bye["code"] == "token"
            port = int(lab.url.rpartition(":")[2])
            assert local_key(port) == LOCAL.text
            access = reach(lab.url)[0]
            assert access.token_now() == LOCAL.text
            assert reach(f"localhost:{port}/arm-1")[0].token_now() == LOCAL.text
            assert reach(lab.url, token="mine")[0].token_now() == "mine"
            assert reach(f"https://127.0.0.1:{port}")[0].token_now() == ""
            assert reach(f"http://lab.example.org:{port}")[0].token_now() == ""
            LocalKey("of-the-next-start").keep(port)
            assert access.token_now() == "of-the-next-start"
            LocalKey("of-the-next-start").drop(port)
            assert access.token_now() == ""

    run(story)


@pytest.mark.parametrize("newest", [LOCAL.text, "wrong"])
def test_a_key_that_changed_between_look_and_call_is_looked_up_once_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, newest: str
) -> None:
    found: list[str] = []

    def look(_: int) -> str:
        return found.pop(0) if found else newest

    async def story() -> None:
        async with served(tmp_path) as lab:
            await lab.ready()
            access = reach(lab.url)[0]
            monkeypatch.setattr("hil.service.lab_request.local_key", look)
            found.append("of-the-start-before")
            outcome = contextlib.nullcontext() if newest == LOCAL.text else pytest.raises(RefusedByLabError)
            with outcome:
                assert (await asyncio.to_thread(list_arms, access)).arms
            found.append("of-the-start-before")
            with outcome:
                async with AsyncArm(access, "arm-1", name="Ada") as ada:
                    assert ada.connected

    run(story)


def test_an_arm_s_address_shows_its_page_in_a_browser_and_tells_nobody_which_arms_there_are(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:
            await lab.ready()
            for name in ("arm-1", "nobody"):
                async with lab.session.get(f"{lab.url}/{name}", allow_redirects=False) as response:
                    assert (response.status, response.headers["Location"]) == (302, f"./#{name}")
            async with lab.session.get(f"{lab.url}/arm-1") as response:
                assert response.status == 200 and "<!doctype html>" in (await response.text()).lower()

    run(story)


def test_every_wrong_request_is_answered_with_a_reason(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:
            await lab.ready()
            for path in (
                "/v2/lab",
                "/v1/arms",
                "/v1/journals/..%2f..%2fetc%2fpasswd",
                "/v1/arms/arm-1/picture?after=x",
            ):
                status, answer = await lab.get(path)
                assert status in (400, 404), path
                assert (answer["type"], bool(answer["reason"])) == ("refused", True)
            assert (await post(lab, "/v1/bookings", "", {"arm": "arm-1"}, 400))["code"] == "malformed"
            async with lab.session.post(f"{lab.url}/v1/previews", data=io.BytesIO(b"x" * (3 << 20))) as response:
                assert response.status == 413
            async with lab.session.delete(f"{lab.url}/v1/bookings/{10**30}") as response:
                assert response.status == 400

    run(story)


def test_a_flood_is_dropped_and_a_stop_in_it_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A busy machine sends and takes a message no oftener than is allowed.
    monkeypatch.setattr("hil.service.channel.MESSAGES_HZ", 20.0)

    async def story() -> None:
        async with served(tmp_path) as lab:
            await lab.ready()
            flooder, driver = await lab.join(name="flooder"), await lab.join(name="driver")
            await driver.drive()
            for _ in range(600):
                await flooder.send("watch", rate_hz=1.0)
            await flooder.send("stop", reason="in the flood")
            await driver.until(lambda: "in the flood" in driver.lease["latched"])
            # The driver may hear of the stop before the flooder has read its answers.
            await flooder.until(lambda: any(answer.get("code") == "rate" for answer in flooder.answers.values()))
            assert driver.lease["phase"] == "held"

    run(story)


def test_whoever_sends_nonsense_again_and_again_is_cut(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:
            await lab.ready()
            person = await lab.join()
            for _ in range(40):
                await person.send_raw("}{")
            await person.until(lambda: person.closed)
            assert person.bye is not None
            assert person.bye["code"] == "malformed"
            await (await lab.join()).ask("watch", rate_hz=0.0)

    run(story)


def test_whoever_was_told_goodbye_is_heard_no_more_but_for_a_stop(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path, keyed=True) as lab:
            await lab.ready()
            await lab.join(token=token("Dee"))
            desk = lab.lab.desks["arm-1"]
            (channel,) = desk.channels
            desk.leave(channel)
            for message in (wire.Watch(seq=90, rate_hz=10.0), wire.Claim(seq=91, wait=True)):
                desk.take(channel, message)
            assert (len(desk.channels.audience), desk.lease.brief(0.0).waiting, desk.lease.driver) == (0, 0, None)
            desk.take(channel, wire.Stop(reason="a hand is in the way"))
            assert "a hand is in the way" in desk.lease.latched

    run(story)


def test_slots_are_booked_and_cancelled_and_others_do_not_see_whose_they_are(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path, keyed=True) as lab:
            await lab.ready()
            await bookable(lab)
            wish = {"arm": "arm-1", "begin_epoch_s": time.time() + 120.0, "minutes": 5.0}
            booked = await post(lab, "/v1/bookings", token("Dee"), wish)
            assert booked["granted"]
            assert [slot["name"] for slot in booked["bookings"]] == ["Dee"]  # type: ignore[attr-defined]
            _, seen = await lab.get("/v1/arms/arm-1/bookings", headers=bearer(token("Eve")))
            assert [(slot["name"], slot["yours"]) for slot in seen["bookings"]] == [("", False)]
            place = f"{lab.url}/v1/bookings/{booked['granted']}"
            async with lab.session.delete(place, headers=bearer(token("Eve"))) as response:
                assert response.status == 400
            async with lab.session.delete(place, headers=bearer(token("Dee"))) as response:
                assert (await response.json())["bookings"] == []

    run(story)


def test_a_slot_begins_after_the_time_of_who_drives_now_unless_that_is_oneself_or_a_teacher(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path, keyed=True) as lab:
            await lab.ready()
            await bookable(lab)
            driver = await lab.join(token=token("Dee"))
            await driver.drive()
            end_s = time.time() + driver.lease["slot_left_s"]
            now = {"arm": "arm-1", "begin_epoch_s": time.time() + 20.0, "minutes": 5.0}
            refused = await post(lab, "/v1/bookings", token("Eve"), now, 400)
            assert "it can be booked from" in str(refused["reason"])
            later = token("Eve", expires_s=int(end_s) + 3600)
            booked = await post(lab, "/v1/bookings", later, {**now, "begin_epoch_s": None})
            (slot,) = booked["bookings"]
            assert slot["begin_epoch_s"] > end_s - 10.0  # type: ignore[has-type]
            assert (await post(lab, "/v1/bookings", token("Dee"), now | {"begin_epoch_s": time.time() + 20.0}))[
                "granted"
            ]

    run(story)


def test_a_teacher_who_drives_without_an_end_hinders_no_booking_and_makes_nobody_late(tmp_path: Path) -> None:
    async def story() -> None:
        hasty = msgspec.structs.replace(PATIENT, bookings=BookingRules(claim_min=1.0))
        async with served(tmp_path, keyed=True, settings=hasty) as lab:
            await lab.ready()
            await bookable(lab)
            teacher = await lab.join(token=token("Tia", Role.TEACH))
            await teacher.drive()
            wish = {"arm": "arm-1", "begin_epoch_s": None, "minutes": 5.0}
            assert (await post(lab, "/v1/bookings", token("Dee"), wish))["granted"]
            assert lab.lab.bookings.reserved("arm-1", time.time() + 200.0).slot is not None

    run(story)


def test_a_teacher_of_one_arm_cannot_cancel_slots_of_another(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path, arms=2, keyed=True) as lab:
            await lab.ready()
            await bookable(lab, "arm-2")
            wish = {"arm": "arm-2", "begin_epoch_s": time.time() + 120.0, "minutes": 5.0}
            booked = await post(lab, "/v1/bookings", token("Dee", arms=("arm-2",)), wish)
            reasons = []
            for number in (int(booked["granted"]), int(booked["granted"]) + 1):
                place = f"{lab.url}/v1/bookings/{number}"
                async with lab.session.delete(place, headers=bearer(token("Tia", Role.TEACH))) as response:
                    body = await response.text()
                    assert response.status == 400
                    assert "Dee" not in body
                    assert "arm-2" not in body
                    reasons.append(json.loads(body)["reason"].replace(str(number), ""))
            assert reasons[0] == reasons[1]
            _, seen = await lab.get("/v1/arms/arm-2/bookings", headers=bearer(token("Dee", arms=("arm-2",))))
            assert [slot["id"] for slot in seen["bookings"]] == [booked["granted"]]

    run(story)


def test_journals_of_an_arm_are_not_those_of_another_whose_name_begins_alike(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path, arms=2, keyed=True) as lab:
            lab.lab.journals.mkdir(exist_ok=True)
            own = ["arm-1-20261130-140000-000001.mcap", "arm-1-20261130-140000-000001_part-0001.mcap"]
            others = ["arm-10-20261130-140000-000001.mcap", "arm-1-left-20261130-140000-000001.mcap", "arm-1-x.mcap"]
            for name in (*own, *others):
                (lab.lab.journals / name).write_bytes(name.encode())
            teacher = bearer(token("Tia", Role.TEACH))
            status, found = await lab.get("/v1/journals", headers=teacher)
            assert (status, found["journals"]) == (200, own)
            assert (await lab.get(f"/v1/journals/{others[1]}", headers=teacher))[0] == 404
            async with lab.session.get(f"{lab.url}/v1/journals/{own[1]}", headers=teacher) as response:
                assert await response.read() == own[1].encode()

    run(story)


def test_pictures_carry_when_they_were_taken_and_come_as_a_stream(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:
            await lab.ready()
            async with lab.session.get(f"{lab.url}/v1/arms/arm-1/picture") as response:
                first_s = float(response.headers[PICTURE_HEADER])
                assert (await response.read()).startswith(b"\x89PNG")
            async with lab.session.get(f"{lab.url}/v1/arms/arm-1/picture?after={first_s}") as response:
                assert float(response.headers[PICTURE_HEADER]) > first_s
            async with lab.session.get(f"{lab.url}/v1/arms/arm-1/pictures") as response:
                begin = await response.content.readuntil(b"\r\n\r\n")
                assert b"image/png" in begin

    run(story)


def test_a_pulled_rig_is_the_arm_s_own_wherever_its_files_are_put(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:
            _, pulled = await lab.get("/v1/arms/arm-1/rig")
            for file in pulled["files"]:
                path = tmp_path / "home" / file["name"]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(file["text"])
            assert load_rig(tmp_path / "home" / "rigs" / "arm-1.toml").digest == pulled["digest"]

    run(story)


def test_who_did_what_is_in_an_audit_that_verifies_and_names_nobody(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path, keyed=True) as lab:
            await lab.ready()
            person = await lab.join(token=token("Dorothea"))
            await person.drive()
            await person.order("arm_jog", speed_share=0.5)
            await person.ask("stop", reason="enough")
            await lab.join(token="nonsense")
            status, found = await lab.get("/v1/audit?what=stop", headers=bearer(token("Tia", Role.TEACH)))
            assert (status, len(found["entries"])) == (200, 1)

    run(story)
    assert verify(tmp_path / "audit", SigningKey(b"a" * 32).public).whole
    deeds = [(entry.data.what, entry.data.verdict) for entry in query(tmp_path / "audit")]
    assert ("claim", "done") in deeds
    assert ("arm jog", "done") in deeds
    assert ("log in", "refused") in deeds
    assert all(b"Dorothea" not in path.read_bytes() for path in (tmp_path / "audit").iterdir())


async def bookable(lab: Served, arm: str = "arm-1") -> None:
    """Wait until the desk has told the calendar how the arm is."""
    async with asyncio.timeout(PATIENCE_S):
        while lab.lab.bookings.why_not(arm):
            await asyncio.sleep(0.05)


async def post(lab: Served, path: str, text: str, body: dict[str, object], status: int = 200) -> dict[str, object]:
    headers = bearer(text) if text else {}
    async with lab.session.post(f"{lab.url}{path}", data=json.dumps(body), headers=headers) as response:
        answer = json.loads(await response.read())
        assert response.status == status, answer
        return answer
