"""Schemathesis asks every operation what GitHub's published OpenAPI description allows, and what it does not.

Checks that are off, and why:
- `status_code_conformance`: the description leaves out most 400, 404 and 422 that GitHub gives.
- `negative_data_rejection`: GitHub ignores fields and parameters it does not know, and reads junk as a default.
- `positive_data_acceptance`: whether a name exists or an actor may do something is not in the description.
- `unsupported_method`: GitHub answers 404 where the description's author would like 405.
- `ignored_auth`, `missing_required_header`: the description has no security schemes; `test_credentials` looks at these.
- `use_after_free`, `ensure_resource_availability`: need links between operations, which the description has none of.
"""

import json
from collections.abc import Generator
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nightly import mostly_nightly
from openapi import NotObtainableError, description_file
from random_seed import random_for
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS
from served_world import Served

from ghx_twin.rest.operations import OPERATIONS

CONFORMANCE = ("content_type_conformance", "response_schema_conformance", "response_headers_conformance")
R = "/repos/{owner}/{repo}"
OLD_FORMS = {f"GET {R}/contents", f"GET {R}/git/refs", f"GET {R}/git/refs/{{ref}}"}  # clients use them, undescribed
HOME = {"owner": "acme", "repo": "widgets", "org": "acme"}
WORDS = ("main", "feature/x", "ann", "bob", "bug", "src/app.py", "crew", "main...feature/x")
UNHURRIED_S = 300
NAMES = [operation.name for operation in OPERATIONS if operation.name not in OLD_FORMS]
TODAY = random_for("described operations").sample(NAMES, len(NAMES) // 8)


@pytest.fixture(scope="module")
def described() -> Any:
    try:
        content = json.loads(description_file().read_bytes())
    except NotObtainableError as error:
        pytest.skip(f"GitHub's OpenAPI description is not obtainable here: {error}")
    schemas = content["components"]["schemas"]
    del schemas["full-repository"]["properties"]["homepage"]["format"]  # any text, in truth
    for address in schemas["deployment-status"]["properties"].values():
        if address.get("default") == "":
            address.pop("format", None)  # the default that GitHub describes, and gives, is not a URI
    wanted: dict[str, Any] = {}
    for operation in OPERATIONS:
        found = content["paths"].get(operation.template, {}).get(operation.method.lower())
        if found is not None:
            wanted.setdefault(operation.template, {})[operation.method.lower()] = found
    return schemathesis.openapi.from_dict({**content, "paths": wanted})


@pytest.fixture(scope="module")
def session() -> Generator[requests.Session]:
    with requests.Session() as session:
        session.trust_env = False
        yield session


@pytest.mark.parametrize("name", mostly_nightly(NAMES, keep=TODAY))
def test_what_is_answered_is_what_is_described(
    name: str, described: Any, session: requests.Session, served: Served
) -> None:
    method, template = name.split(" ")
    operation = described[template][method]
    session.headers["Authorization"] = f"token {served.token()}"
    known = st.sampled_from([*served.seeded.ids.values(), *served.seeded.shas.values(), *WORDS])

    @given(data=st.data(), mode=st.sampled_from(list(GenerationMode)))
    @settings(max_examples=4, database=None, suppress_health_check=list(HealthCheck))
    def ask(data: st.DataObject, mode: GenerationMode) -> None:
        case = data.draw(operation.as_strategy(generation_mode=mode))
        for parameter in case.path_parameters or {}:
            case.path_parameters[parameter] = HOME.get(parameter) or data.draw(known)
        # Its own limit of 10 s is for services; a busy machine is no fault of the server's.
        response = case.call(base_url=served.server.url, session=session, timeout=UNHURRIED_S)
        if response.status_code == 501:  # a part of an operation that the twin lacks, and says so
            assert "twin" in response.text
            return
        assert response.status_code < 500
        if response.status_code >= 400:  # described by schemas that often exclude each other
            assert {"message", "documentation_url", "status"} <= set(response.json())
            return
        case.validate_response(response, checks=[CHECKS.get_one(one) for one in CONFORMANCE])

    ask()
