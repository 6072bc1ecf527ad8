from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.documents.markup import text_of_html

PAGE = """<!DOCTYPE html><html><head><title>Gateway
 handbook</title><style>p { color: red }</style></head><body>
<nav><a href="/">Home</a></nav><h1>Gateway</h1><p>It listens on
<b>7333</b>.</p><ul><li>first<ul><li>nested</li></ul></li><li>second</li></ul><ol><li>one</li><li>two</li></ol>
<pre><code>run --port 7333
  indented</code></pre><table><tr><th>host</th><th>port</th></tr><tr><td>a</td><td>1</td></tr></table>
<script>alert("no")</script><img alt="a diagram" src="x.png"><p>Caf&eacute; &amp; 日本語</p></body></html>"""


def test_structure_is_kept_and_scripts_go() -> None:
    title, text = text_of_html(PAGE)
    assert title == "Gateway handbook"
    assert "# Gateway" in text.splitlines()
    assert "It listens on 7333." in text
    assert "- first\n  - nested\n- second" in text.replace(" \n", "\n").replace("\n\n", "\n")
    assert "1. one\n2. two" in text
    assert "```\nrun --port 7333\n  indented\n```" in text
    assert "| host | port" in text
    assert "a diagram" in text
    assert "Café & 日本語" in text
    assert not any(gone in text for gone in ("alert", "Home", "color"))


@pytest.mark.parametrize("tag", ["nav", "svg", "noscript", "template"])
def test_an_element_that_is_never_closed_swallows_nothing(tag: str) -> None:
    assert "the text" in text_of_html(f"<p>before</p><{tag}><p>the text</p>")[1]


@pytest.mark.parametrize(
    "html", ["<p>one</p><p>two</p>", "one<br>two", "<ul><li>one<p>two</p></ul>", "<td>one<td>two", "<div>one</div>two"]
)
def test_words_never_run_together(html: str) -> None:
    assert "onetwo" not in text_of_html(html)[1]


MARKS = st.lists(
    st.sampled_from(
        ["<", "</", ">", "<!", "<![", "<![CDATA[", "<!--", "-->", "]]>", "<?", "&", "&#", "&amp;", "&#x110000;", "p", "div",
         "nav", "script", "li", "ul", "pre", "td", "title", "h1", ' class="', "'", "=", "/>", " ", "\n", "日本", "\x00"]
    ),
    max_size=30,
).map("".join)  # fmt: skip


@given(st.one_of(MARKS, st.text()))
def test_broken_markup_never_raises(html: str) -> None:
    text_of_html(html)
