"""Two small corpora of our own invention, in several languages: a talk, and notes nobody said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

TALK: dict[str, Any] = {
    "set": "made",
    "corpus": "workshop",
    "documents": [
        {"id": "a1", "session": "S1", "time": "9:05 am on 3 March, 2025", "speaker": "Imke",
         "text": "We rented the old bakery on Dock Street for the pottery workshop."},
        {"id": "a2", "session": "S1", "time": "9:05 am on 3 March, 2025", "speaker": "Raul",
         "text": "Great, the oven there still works, doesn't it?"},
        {"id": "a3", "session": "S1", "time": "9:05 am on 3 March, 2025", "speaker": "Imke",
         "text": "It does. The kiln arrives on the twelfth and weighs 240 kilos."},
        {"id": "a4", "session": "S1", "time": "9:05 am on 3 March, 2025", "speaker": "Imke",
         "text": "Die Versicherung läuft über die Genossenschaft am Hafen."},
        {"id": "a5", "session": "S2", "time": "2025-04-10", "speaker": "Raul",
         "text": "O forno novo aquece até 1280 graus."},
        {"id": "a6", "session": "S2", "time": "2025-04-10", "speaker": "Imke",
         "text": "窯の鍵は赤い箱に入っています。"},
        {"id": "a7", "session": "S2", "time": "2025-04-10", "speaker": "Raul",
         "text": "Глазурь мы покупаем у сестёр Орловых."},
        {"id": "a8", "session": "S2", "time": "2025-04-10", "speaker": "Imke",
         "text": "The first class is full: eleven people signed up."},
    ],
    "queries": [
        {"query": "How heavy is the kiln?", "evidence": ["a3"], "category": "single"},
        {"query": "Which building was rented for the pottery workshop?", "evidence": ["a1"], "category": "single"},
        {"query": "Wer versichert die Werkstatt?", "evidence": ["a4"], "category": "other language"},
        {"query": "窯の鍵はどこですか？", "evidence": ["a6"], "category": "other language"},
        {"query": "How many people are in the first class, and what does the kiln weigh?", "evidence": ["a3", "a8"],
         "category": "several"},
    ],
}  # fmt: skip

NOTES: dict[str, Any] = {
    "set": "made",
    "corpus": "notes",
    "documents": [
        {"id": "n1", "session": "", "time": "", "speaker": "",
         "text": "The lighthouse at Skarv Point was automated in 1986 and is lit by solar power."},
        {"id": "n2", "session": "", "time": "", "speaker": "", "text": "灯塔的管理员每周三检查发电机，并记录风速。"},
        {"id": "n3", "session": "", "time": "", "speaker": "", "text": "تصل السفينة إلى الجزيرة كل يوم سبت مع البريد والوقود."},
    ],
    "queries": [
        {"query": "When was the lighthouse automated?", "evidence": ["n1"], "category": "single"},
        {"query": "管理员什么时候检查发电机？", "evidence": ["n2"], "category": "other language"},
        {"query": "متى تصل السفينة إلى الجزيرة؟", "evidence": ["n3"], "category": "other language"},
    ],
}  # fmt: skip

ASKED_IN_GERMAN: dict[str, Any] = {
    **NOTES,
    "corpus": "notes-de",
    "queries": [{"query": "Wann wurde der Leuchtturm automatisiert?", "evidence": ["n1"], "category": "de"}],
}


def written(path: Path, *corpora: dict[str, Any]) -> Path:
    path.write_text("\n".join(json.dumps(corpus, ensure_ascii=False) for corpus in corpora), "utf-8")
    return path
