"""Ids that are the same for the same work, and different for any other."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from memory_os_workers.jobs import names
from memory_os_workers.jobs.functions import FUNCTIONS

_ARGUMENTS = st.lists(st.one_of(st.text(), st.integers(), st.lists(st.text())), max_size=4)


@given(_ARGUMENTS, _ARGUMENTS)
def test_the_same_work_has_one_id_and_other_work_another(one: list[object], other: list[object]) -> None:
    assert (names.job_id("h", "embed", one) == names.job_id("h", "embed", other)) == (one == other)


def test_homes_and_functions_never_share_an_id() -> None:
    ids = {names.job_id(home, function, ["a"]) for home in ("h1", "h2") for function in ("embed", "ingest")}
    assert len(ids) == 4
    assert all(one.startswith(("memory-os:h1:", "memory-os:h2:")) for one in ids)


@given(st.recursive(st.one_of(st.none(), st.booleans(), st.integers(), st.text()), lambda inner: st.lists(inner)))
def test_jobs_are_json_in_every_script(value: object) -> None:
    assert names.decode(names.encode(value)) == value
    assert names.encode(value).isascii()


def test_an_exception_is_stored_as_its_text() -> None:
    assert names.decode(names.encode({"r": ValueError("what was wrong")})) == {"r": "what was wrong"}


def test_every_function_has_a_time_out() -> None:
    assert FUNCTIONS.keys() <= names.TIMEOUTS_S.keys()
