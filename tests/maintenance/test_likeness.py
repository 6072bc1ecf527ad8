"""One statement or two: only ways of writing merge. In seven languages, numbers, names and negations stay two."""

from __future__ import annotations

import pytest
from memory_os.maintenance.likeness import numbers, restates, written

ONE = [
    ("The staging gateway listens on port 8443.", "the staging gateway listens on port 8443"),
    ("The staging gateway listens on port 8443", "Staging gateway listens on the port 8443."),
    ("The team (in Lisbon) owns the billing service.", "The team, in Lisbon, owns the billing service"),
    ("Die Ablage, Halle 3, ist voll.", "Die Ablage (Halle 3) ist voll"),
    ("O servidor fica em Lisboa.", "o servidor fica em Lisboa"),
    ("Сервер «Альфа» стоит в зале 3.", "Сервер Альфа стоит в зале 3"),
    ("الخادم في القاعة ٣.", "الخـادم في القاعة ٣"),
    ("数据库端口是 5433。", "数据库端口是5433"),
    ("会議は 水曜日 です。", "会議は水曜日です"),
]
TWO = [
    ("The gateway listens on port 8443.", "The gateway listens on port 8444."),
    ("The gateway listens on port 8443.", "The gateway listens on port 843."),
    ("The rate is 1,5 percent.", "The rate is 15 percent."),
    ("Maria prefers tea.", "Marta prefers tea."),
    ("Maria prefers tea in the morning.", "Maria does not prefer tea in the morning."),
    ("The train goes from Berlin to Bonn.", "The train goes from Bonn to Berlin."),
    ("Der Hund beißt den Mann.", "Den Hund beißt der Mann."),
    ("Der Server läuft.", "Der Server läuft nicht."),
    ("A conta está paga.", "A conta não está paga."),
    ("Сервер работает.", "Сервер не работает."),
    ("الخادم يعمل.", "الخادم لا يعمل."),
    ("服务器在运行。", "服务器不在运行。"),
    ("サーバーは動いている。", "サーバーは動いていない。"),
    ("The flag is -v.", "The flag is -V."),
    ("The price is 5 $.", "The price is 5 €."),
    ("US sales grew.", "us sales grew."),
    ("", ""),
]


@pytest.mark.parametrize(("first", "second"), ONE)
def test_ways_of_writing_are_one_statement(first: str, second: str) -> None:
    assert restates(first, second)
    assert restates(second, first)


@pytest.mark.parametrize(("first", "second"), TWO)
def test_what_differs_in_a_word_is_two(first: str, second: str) -> None:
    assert not restates(first, second)
    assert not restates(second, first)


def test_a_pause_between_digits_is_part_of_the_number() -> None:
    assert written("1,5") != written("15")
    assert written("1,5") != written("1 5")


def test_numbers_are_compared_whatever_their_width_and_order() -> None:
    assert numbers("Port ８４４３, room 3") == numbers("room 3, port 8443")
    assert numbers("port 8443") != numbers("port 844 3")
