from __future__ import annotations

import re

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


@pytest.mark.parametrize(
    "html",
    [
        "<div hidden>SECRET</div>",
        '<div hidden=""><div>x</div>SECRET</div>',
        '<span style="color:red; DISPLAY : none">SECRET</span>',
        '<p style="visibility:hidden">SECRET',
        "<ul><li hidden>SECRET<li>shown</ul>",
        "<ul><li>shown<li hidden>SECRET</ul>",
        '<section aria-hidden="true"><p>SECRET</p><p>SECRET</p></section>',
        "<template><p>SECRET</template>",
        "<nav>SECRET<nav>SECRET</nav>SECRET</nav>",
        "<script>if (a < b) { SECRET }</script>",
        "<style>.a { content: 'SECRET' }</style>",
        "<!-- SECRET -->",
        '<img hidden alt="SECRET">',
    ],
)
def test_what_a_browser_would_not_show_goes(html: str) -> None:
    text = text_of_html(f"<h1>Title</h1><p>before</p>{html}<p>after</p>")[1]
    assert "SECRET" not in text
    assert "before" in text and "after" in text


def test_hidden_until_found_is_found() -> None:
    assert "folded away" in text_of_html('<div hidden="until-found">folded away</div>')[1]


def test_a_hidden_element_that_is_never_closed_swallows_nothing() -> None:
    assert "the text" in text_of_html("<div hidden><h1>Title</h1><p>the text</p>")[1]


def test_nesting_has_no_end() -> None:
    assert text_of_html("<div>" * 20_000 + "deep" + "</div>" * 20_000)[1] == "deep"


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


def test_space_between_tags_begins_no_line() -> None:
    assert text_of_html("<div>\n <p>\n  One </p>\n\n <p> \n\n <b>Two</b></p> </div>")[1].split("\n") == ["One ", "", "Two"]


def test_the_row_that_names_a_tables_columns_is_told_from_the_others() -> None:
    head = "<table><thead>\n<tr><th>host</th>\n<th>port</th></tr></thead>"
    rows = "<tr><td>a</td><td>1</td></tr><tr><th>b</th><td>2</td></tr></table>"
    assert re.sub(" +", " ", text_of_html(head + rows)[1]) == "| host | port\n|---|---|\n| a | 1\n| b | 2"
    assert "---" not in text_of_html(rows + "<table><tr><th>alone</th></tr></table>")[1]
