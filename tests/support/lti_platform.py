"""A learning system that is not ours (lti1p3platform) on a local port, with a course page and a gradebook.

The package does the protocol: preflight, signed launches, leave to send, scopes, scores. Here stands what it leaves
open: an HTTP server, people, columns.
"""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from lti1p3platform.exceptions import LineItemNotFoundException, LtiServiceException
from lti1p3platform.ltiplatform import LTI1P3PlatformConfAbstract
from lti1p3platform.message_launch import LTIAdvantageMessageLaunchAbstract
from lti1p3platform.oidc_login import OIDCLoginAbstract
from lti1p3platform.registration import Registration
from lti1p3platform.request import Request
from lti1p3platform.score import UpdateScoreStatus
from lti1p3platform.service_connector import AssignmentsGradesService

LEARNER = "http://purl.imsglobal.org/vocab/lis/v2/membership#Learner"
INSTRUCTOR = "http://purl.imsglobal.org/vocab/lis/v2/membership#Instructor"
CLIENT, DEPLOYMENT, COURSE, LINK = "client-of-the-lab", "1", "42", "activity-7"

FORM = """<!doctype html><title>A learning system</title>
<form action="{action}" method="post">
<input name="id_token" value="{id_token}"><input name="state" value="{state}"></form>
<script>document.forms[0].submit();</script>"""


@functools.cache
def rsa_key(number: int = 0) -> rsa.RSAPrivateKey:
    """Keys take long to make: the same ones for all tests of a process."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def public_pem(number: int = 0) -> str:
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return rsa_key(number).public_key().public_bytes(serialization.Encoding.PEM, form).decode()


class _Conf(LTI1P3PlatformConfAbstract):
    def init_platform_config(self, registration: Registration) -> None:
        self._registration = registration

    def get_registration_by_params(self, **_: Any) -> Registration:
        assert self._registration is not None
        return self._registration


class _Registration(Registration):
    """The key as it is: to read it from PEM, for each message twice, takes longer than all the rest."""

    def get_kid(self) -> str:
        return str(Registration.get_jwk(self.get_platform_public_key() or "")["kid"])


class _Asked(Request):
    def build_metadata(self, request: Any) -> Any:
        return request


class _Preflight(OIDCLoginAbstract):
    def set_lti_message_hint(self, **kwargs: Any) -> None:
        self._lti_message_hint = kwargs["hint"]

    def get_redirect(self, url: str) -> str:
        return url


class _Launch(LTIAdvantageMessageLaunchAbstract):
    def render_launch_form(self, launch_data: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return launch_data


class _Gradebook(AssignmentsGradesService):
    def __init__(self, request: Request, platform: Platform) -> None:
        super().__init__(request, platform.conf, f"{platform.url}/ags/lineitems", None)
        self._platform = platform

    def find_lineitems(self, **_: Any) -> Any:
        return {"content": list(self._platform.columns.values()), "has_next": False}

    def find_lineitem(self, line_item_id: str) -> Any:
        if line_item_id not in self._platform.columns:
            raise LineItemNotFoundException
        return self._platform.columns[line_item_id]

    def create_lineitem(self, creation_data: Any) -> Any:
        return self._platform.add_column(dict(creation_data))

    def update_lineitem(self, update_data: Any) -> Any:
        raise NotImplementedError

    def delete_lineitem(self, line_item_id: str) -> None:
        raise NotImplementedError

    def update_score(self, line_item_id: str, score: Any) -> UpdateScoreStatus:
        self.find_lineitem(line_item_id)
        return self._platform.take_score(line_item_id, score)

    def get_results(self, line_item_id: str, **_: Any) -> Any:
        scores = self._platform.grades.get(line_item_id, {})
        content = [
            {"userId": user, "resultScore": score["scoreGiven"], "resultMaximum": score["scoreMaximum"]}
            for user, score in scores.items()
        ]
        return {"content": content, "has_next": False}


class Platform:
    """One learning system.

    Attributes:
        people: roles of each, by what the system calls them.
        custom: what the activity's settings say.
        target: query of the activity's address.
        columns: of the gradebook, by id; `own_column` is the activity's, if it has one.
        grades: newest score of each person, by column.
        posted: every score that came, in order.
        trouble: gives the status with which a score is answered instead, or None; before it is taken, or after.
        key: number of the key that it signs with.
        tool: address of the lab; `tool_keys` are the lab's, where it has no server.
    """

    def __init__(self) -> None:
        self.people: dict[str, list[str]] = {"3": [LEARNER], "4": [LEARNER], "9": [INSTRUCTOR]}
        self.custom: dict[str, str] = {}
        self.target = ""
        self.claims: Callable[[dict[str, Any]], None] = lambda claims: None
        self.columns: dict[str, dict[str, Any]] = {}
        self.own_column: str | None = None
        self.grades: dict[str, dict[str, dict[str, Any]]] = {}
        self.posted: list[tuple[str, dict[str, Any]]] = []
        self.trouble: Callable[[str], int | None] = lambda when: None
        self.key = 0
        self.keys_asked = 0
        self.tool = ""
        self.tool_keys: Any = None
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Handler, self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def settings(self) -> dict[str, Any]:
        """What a lab's settings say of it."""
        return {
            "issuer": self.url,
            "client_id": CLIENT,
            "deployments": (DEPLOYMENT,),
            "login_url": f"{self.url}/auth",
            "token_url": f"{self.url}/token",
            "keys_url": f"{self.url}/jwks",
        }

    @property
    def registration(self) -> Registration:
        registration = _Registration()
        registration.set_iss(self.url).set_client_id(CLIENT).set_deployment_id(DEPLOYMENT)
        registration.set_launch_url(f"{self.tool}/lti/launch{self.target}")
        registration.set_oidc_login_url(f"{self.tool}/lti/login")
        registration.set_tool_key_set_url(f"{self.tool}/lti/keys")
        if self.tool_keys is not None:
            registration.set_tool_key_set(self.tool_keys)
        registration.set_platform_public_key(public_pem(self.key))
        registration.set_platform_private_key(rsa_key(self.key))
        return registration

    @property
    def conf(self) -> _Conf:
        return _Conf(registration=self.registration)

    # -- course page ---------------------------------------------------------------------------------------------

    def click(self, user: str) -> str:
        """Where the browser goes when somebody opens the activity."""
        preflight = _Preflight(None, self.conf)
        preflight.set_lti_message_hint(hint=LINK)
        return str(preflight.initiate_login(user))

    def answer(self, asked: Mapping[str, str]) -> dict[str, Any]:
        """What the browser brings back: address, state and signed message."""
        user = asked["login_hint"]
        launch = _Launch(_Asked({"get_data": dict(asked), "form_data": {}}), self.conf)
        launch.set_user_data(user, self.people[user])
        launch.set_resource_link_claim(LINK)
        launch.set_launch_context_claim(COURSE)
        launch.set_custom_parameters_claim(dict(self.custom))
        column = None if self.own_column is None else self.columns[self.own_column]["id"]
        launch.set_ags(f"{self.url}/ags/lineitems", column)
        claims: dict[str, Any] = {}
        self.claims(claims)
        launch.set_extra_claims(claims)
        found: dict[str, Any] = launch.lti_launch()
        return found

    def claims_of(self, asked: Mapping[str, str]) -> dict[str, Any]:
        """The message alone, to be changed and signed by somebody else."""
        claims: dict[str, Any] = jwt.decode(self.answer(asked)["id_token"], options={"verify_signature": False})
        return claims

    def sign(self, claims: Mapping[str, Any]) -> str:
        """As the system does."""
        headers = {"kid": self.registration.get_kid()}
        return jwt.encode(dict(claims), rsa_key(self.key), algorithm="RS256", headers=headers)

    # -- gradebook -----------------------------------------------------------------------------------------------

    def add_column(self, data: dict[str, Any]) -> dict[str, Any]:
        number = str(len(self.columns) + 1)
        self.columns[number] = data | {"id": f"{self.url}/ags/lineitems/{number}"}
        return self.columns[number]

    def take_score(self, column: str, score: dict[str, Any]) -> UpdateScoreStatus:
        """As Moodle does: no score that is not newer than the one that is there."""
        self.posted.append((column, score))
        before = self.grades.setdefault(column, {}).get(score["userId"])
        if before is not None and score["timestamp"] <= before["timestamp"]:
            return UpdateScoreStatus.OLD_TIMESTAMP
        self.grades[column][score["userId"]] = score
        return UpdateScoreStatus.SUCCESS

    def forget(self) -> None:
        """An empty gradebook and no trouble."""
        self.columns, self.grades, self.posted, self.own_column = {}, {}, [], None
        self.trouble = lambda when: None

    def marks(self) -> dict[str, tuple[float, float]]:
        """What its teacher sees, of all columns."""
        return {
            user: (score["scoreGiven"], score["scoreMaximum"])
            for scores in self.grades.values()
            for user, score in scores.items()
        }


class _Handler(BaseHTTPRequestHandler):
    def __init__(self, platform: Platform, *arguments: Any) -> None:
        self._platform = platform
        super().__init__(*arguments)

    def log_message(self, *_: Any) -> None:
        """Nothing."""

    def do_GET(self) -> None:
        platform, parts = self._platform, urlsplit(self.path)
        query = dict(parse_qsl(parts.query))
        if parts.path == "/course":
            self._say(302, b"", {"Location": platform.click(query["user"])})
        elif parts.path == "/frame":
            text = f'<!doctype html><iframe src="/course?user={query["user"]}"></iframe>'
            self._say(200, text.encode(), {"Content-Type": "text/html"})
        elif parts.path == "/auth":
            found = platform.answer(query)
            form = FORM.format(action=found["launch_url"], id_token=found["id_token"], state=found["state"])
            self._say(200, form.encode(), {"Content-Type": "text/html"})
        elif parts.path == "/jwks":
            platform.keys_asked += 1
            self._json(200, platform.conf.get_jwks())
        else:
            self._grades(parts.path, b"")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/token":
            form = {key: values[0] for key, values in parse_qs(body.decode()).items()}
            try:
                self._json(200, self._platform.conf.get_access_token(form))
            except Exception as error:
                self._json(400, {"error": "invalid_client", "error_description": str(error)})
        else:
            self._grades(urlsplit(self.path).path, body)

    def _grades(self, path: str, body: bytes) -> None:
        request = _Asked(
            {
                "method": self.command, "headers": self.headers, "get_data": {}, "form_data": {},
                "json": json.loads(body) if body else None,
            }
        )  # fmt: skip
        service = _Gradebook(request, self._platform)
        match path.strip("/").split("/"):
            case ["ags", "lineitems"]:
                call = service.handle_get_lineitems if self.command == "GET" else service.handle_create_lineitem
            case ["ags", "lineitems", column, "scores"]:
                call = functools.partial(service.handle_update_score, column)
            case ["ags", "lineitems", column, "results"]:
                call = functools.partial(service.handle_get_results, column)
            case _:
                self._say(404, b"", {})
                return
        scores = path.endswith("/scores")
        if scores and (code := self._platform.trouble("before")) is not None:
            self._say(code, b"", {"Location": f"{self._platform.url}/jwks"})
            return
        try:
            answer = call()
        except LtiServiceException as error:
            self._json(error.status_code, {"error": error.message})
            return
        except jwt.InvalidTokenError as error:
            self._json(401, {"error": str(error)})
            return
        if scores and (code := self._platform.trouble("after")) is not None:
            self._say(code, b"", {})
            return
        result = answer.result
        self._json(answer.code, result.get("content", result) if isinstance(result, dict) else result)

    def _json(self, code: int, body: Any) -> None:
        self._say(code, b"" if body is None else json.dumps(body).encode(), {"Content-Type": "application/json"})

    def _say(self, code: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
