"""Lists in statements come in a few lengths, however many values there are."""

from __future__ import annotations

from memory_os.index import rows


def test_a_connection_keeps_few_statements_for_lists_of_every_length() -> None:
    lengths = {rows.marks([0] * count) for count in range(1, 4001)}
    assert len(lengths) < 12


def test_every_value_has_its_mark_and_the_rest_is_null() -> None:
    for count in (1, 8, 9, 289, 700, 4000):
        values = list(range(count))
        padded = rows.padded(values)
        assert padded[:count] == tuple(values) and set(padded[count:]) <= {None}
        assert rows.marks(values).count("?") == len(padded) < 2 * count + 24
