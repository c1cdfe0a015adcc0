"""What a file may not hold, each with the line that it must be answered with."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.errors import CliError
from cli.manifests import Manifest, load

Refusal = Callable[..., str]


@pytest.fixture
def refusal(tmp_path: Path) -> Refusal:
    """The one line that a file is refused with, the folder left out; the exit code is 2."""

    def refused(data: bytes | str, name: str = "file.json") -> str:
        path = tmp_path / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        with pytest.raises(CliError) as caught:
            load([str(path)])
        assert caught.value.exit_code == 2
        (line,) = caught.value.lines()
        return line.replace(f"{tmp_path}/", "")

    return refused


def loaded(tmp_path: Path, text: str, name: str = "file.json") -> list[Manifest]:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return load([str(path)])


@pytest.mark.req("B1", "B2", "B3", "B4", "B5", "B6", "B7", "B8", "B9", "B10", "B14", "B15", "B23")
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "file.json: empty manifest"),
        (" \n\t ", "file.json: empty manifest"),
        ('{"kind":"Job"', "file.json:1:14: unexpected end of JSON"),
        ('{"kind":"Jo', "file.json:1:12: unexpected end of JSON"),
        ("{} {}", "file.json:1:4: data after the end of the document"),
        ("[]", "file.json:1:1: manifest must be an object or a List"),
        ('"x"', "file.json:1:1: manifest must be an object or a List"),
        ("null", "file.json:1:1: manifest must be an object or a List"),
        ("42", "file.json:1:1: manifest must be an object or a List"),
        ('{"spec":{"replicas":NaN}}', "file.json:1:21: spec.replicas: NaN is not JSON"),
        ('{"spec":{"replicas":-Infinity}}', "file.json:1:21: spec.replicas: -Infinity is not JSON"),
        ('{"spec":{"replicas":Infinity}}', "file.json:1:21: spec.replicas: Infinity is not JSON"),
        ('{"spec":{"replicas":1e400}}', "file.json:1:21: spec.replicas: number out of range"),
        ('{"n":1e-400}', "file.json:1:6: n: number out of range"),
        ('{"n":' + "9" * 4301 + "}", "file.json:1:6: n: integer outside the 64-bit range"),
        ('{"n":9223372036854775808}', "file.json:1:6: n: integer outside the 64-bit range"),
        ('{"n":-9223372036854775809}', "file.json:1:6: n: integer outside the 64-bit range"),
        ('{"a":1,"a":2}', 'file.json:1:8: a: duplicate key "a"'),
        ('{"spec":{\n  "a": 1,\n  "a": 2}}', 'file.json:3:3: spec.a: duplicate key "a"'),
        ("[" * 1_000_000, "file.json:1:65: nesting deeper than 64"),
        ('{"spec":{"x":' + "[" * 990 + "]" * 990 + "}}", "file.json:1:76: nesting deeper than 64"),
        ('{"metadata":{"labels":{"x":"\\ud800"}}}', "file.json:1:28: metadata.labels.x: not valid Unicode text"),
    ],
)
def test_json_is_read_as_the_standard_says_it(refusal: Refusal, text: str, line: str) -> None:
    assert refusal(text) == line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("{'a':1}", 'file.json:1:2: expected a key in quotes, found "\'"'),
        ('{"a" 1}', 'file.json:1:6: a: expected ":", found "1"'),
        ('{"a":1 "b":2}', 'file.json:1:8: expected "," or "}", found """'),
        ('{"a":[1 2]}', 'file.json:1:9: a: expected "," or "]", found "2"'),
        ('{"a":01}', 'file.json:1:6: a: "01" is not a number'),
        ('{"a":1.}', 'file.json:1:6: a: "1." is not a number'),
        ('{"a":tru}', 'file.json:1:6: a: expected a value, found "t"'),
        ('{"a":"\\x"}', "file.json:1:7: a: bad escape in a text"),
        ('{"a":"\\u12g4"}', "file.json:1:7: a: bad escape in a text"),
        ('{"a":"\x1b"}', "file.json:1:7: a: control character in a text; write it as \\u001b"),
        ('{"a":1,}', 'file.json:1:8: expected a key in quotes, found "}"'),
    ],
)
def test_a_slip_is_named_where_it_is(refusal: Refusal, text: str, line: str) -> None:
    assert refusal(text) == line


def test_what_json_can_say_is_read(tmp_path: Path) -> None:
    text = '{"a": [-0, 1E2, 9223372036854775807, -9223372036854775808, 0.5], "b": "\\ud83d\\ude00\\n\\/", "c": null}'
    (manifest,) = loaded(tmp_path, text)
    assert manifest.document == json.loads(text)


@pytest.mark.req("B17")
def test_a_spec_over_one_mebibyte_is_refused_by_its_size(refusal: Refusal) -> None:
    line = refusal('{"kind":"bundle","spec":{"x":"' + "a" * 1_048_569 + '"}}')
    assert line == "file.json:1:18: spec is 1048577 bytes, limit is 1048576 (1 MiB)"


@pytest.mark.req("B17")
def test_a_spec_of_one_mebibyte_is_read(tmp_path: Path) -> None:
    assert len(loaded(tmp_path, '{"kind":"bundle","spec":{"x":"' + "a" * 1_048_568 + '"}}')) == 1


@pytest.mark.req("B21")
@pytest.mark.parametrize("name", ["file.json", "file.yaml"])
def test_a_byte_order_mark_is_passed_over(tmp_path: Path, name: str) -> None:
    assert loaded(tmp_path, '\ufeff{"kind": "pool"}', name)[0].kind == "pool"


@pytest.mark.req("B22", "B24")
@pytest.mark.parametrize("name", ["file.json", "file.yaml"])
def test_only_utf8_is_text(refusal: Refusal, name: str) -> None:
    utf16 = f"{name}: not UTF-8 (it looks like UTF-16)"
    text = '{"a":1}'
    assert [refusal(text.encode(code), name) for code in ("utf-16", "utf-16-le", "utf-16-be")] == [utf16] * 3
    assert refusal(b'{"metadata":{"name":"\xff\xfe"}}', name) == f"{name}: not UTF-8 at byte 21"


def billion_laughs() -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    return "\n".join(lines)


@pytest.mark.req("B25", "B27", "B10", "B5", "B9")
@pytest.mark.parametrize(
    ("text", "line"),
    [
        (billion_laughs(), "file.yaml:2:10: a1[0]: aliases are not allowed"),
        ("[" * 3000, "file.yaml:1:65: nesting deeper than 64"),
        ("spec:\n  a: 1\n  a: 2\n", 'file.yaml:3:3: spec.a: duplicate key "a"'),
        ("a: .nan", "file.yaml:1:4: a: NaN is not JSON"),
        ("a: -.inf", "file.yaml:1:4: a: -Infinity is not JSON"),
        ("a: 99999999999999999999", "file.yaml:1:4: a: integer outside the 64-bit range"),
        ("a: 1e400", "file.yaml:1:4: a: number out of range"),
        (
            "a: !!python/name:os.system x",
            "file.yaml:1:4: a: tags are not allowed (tag:yaml.org,2002:python/name:os.system)",
        ),
        ("1: a", "file.yaml:1:1: keys are texts, got 1"),
        ("? [a]\n: b", "file.yaml:1:3: keys are texts, got a list"),
        ("- a", "file.yaml:1:1: manifest must be an object or a List"),
        ("just text", "file.yaml:1:1: manifest must be an object or a List"),
        ("# nothing\n", "file.yaml: empty manifest"),
        ("a: b: c", "file.yaml:1:5: mapping values are not allowed here"),
        ('a: "\x1b"', "file.yaml:1:5: character that YAML does not allow"),
        ('a: "\\ud800"', "file.yaml:1:4: a: not valid Unicode text"),
    ],
)
def test_yaml_is_the_core_schema_and_nothing_clever(refusal: Refusal, text: str, line: str) -> None:
    assert refusal(text, "file.yaml") == line


def test_words_and_dates_of_older_yaml_are_text(tmp_path: Path) -> None:
    (manifest,) = loaded(
        tmp_path, 'a: [no, on, 2026-01-31, 12:30:45, 1_000, 0x1F, 0o17, 012, ~, "1", 1.5]', "file.yaml"
    )
    assert manifest.document["a"] == ["no", "on", "2026-01-31", "12:30:45", "1_000", 31, 15, 12, None, "1", 1.5]


def test_several_documents_and_lists_are_unfolded_in_order(tmp_path: Path) -> None:
    text = "kind: List\nitems:\n- {kind: pool, metadata: {name: a}}\n---\n---\nkind: node\nmetadata: {name: b}\n"
    found = loaded(tmp_path, text, "file.yaml")
    assert [(one.kind, one.name, one.where("metadata.name").rpartition("/")[2]) for one in found] == [
        ("pool", "a", "file.yaml:3:27"),
        ("node", "b", "file.yaml:7:12"),
    ]


@pytest.mark.req("B72")
def test_two_documents_of_one_name_are_refused(refusal: Refusal) -> None:
    text = "\n---\n".join(f"kind: pool\nmetadata: {{name: {name}}}" for name in "aba")
    assert refusal(text, "file.yaml") == "file.yaml:8:12: pool/a: defined twice (documents 1 and 3)"


def test_a_field_knows_its_line_and_a_missing_one_that_of_what_is_around_it(tmp_path: Path) -> None:
    text = "kind: bundle\nspec:\n  jobs:\n    - jobName: a\n      requirements:\n        onRuntimeFailure: restrat\n"
    (manifest,) = loaded(tmp_path, text, "bundle.yaml")
    places = ["spec.jobs[0].requirements.onRuntimeFailure", "spec.jobs[0].requirements.requiredCapacity", "spec.pool"]
    assert [manifest.where(path).rpartition("/")[2] for path in places] == [
        "bundle.yaml:6:9",
        "bundle.yaml:5:7",
        "bundle.yaml:2:1",
    ]


def test_the_flat_bundle_is_read_and_its_fields_are_found_in_the_file(tmp_path: Path) -> None:
    text = '{"bundleId": "ch-1", "state": "live",\n "pool": "production", "jobs": [{"jobName": "encode"}]}'
    (manifest,) = loaded(tmp_path, text)
    assert manifest.document == {
        "apiVersion": "rmctl/v1",
        "kind": "bundle",
        "metadata": {"name": "ch-1"},
        "spec": {"pool": "production", "jobs": [{"jobName": "encode"}]},
    }
    assert [manifest.where(path).rpartition("/")[2] for path in ("metadata.name", "spec.jobs[0].jobName")] == [
        "file.json:1:2",
        "file.json:2:34",
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"bundleId":"a","state":"broken"}', 'file.json:1:17: state: only "live" can be asked for'),
        (
            '{"bundleId":"a","replicaCount":2}',
            "file.json:1:17: replicaCount: not set by people, it follows from resiliencePolicy",
        ),
    ],
)
def test_the_flat_bundle_sets_nothing_that_follows_from_the_rest(refusal: Refusal, text: str, line: str) -> None:
    assert refusal(text) == line


@pytest.mark.req("B79", "B81")
def test_what_is_no_file_is_named_and_nothing_is_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "empty").mkdir()
    (tmp_path / "new\nline.json").write_text("{", encoding="utf-8")
    found = {}
    for name in ("nosuch.json", "fifo", "loop", "empty", "new\nline.json"):
        with pytest.raises(CliError) as caught:
            load([str(tmp_path / name)])
        found[name] = (caught.value.exit_code, caught.value.message.replace(f"{tmp_path}/", ""))
    assert found == {
        "nosuch.json": (2, "nosuch.json: no such file"),
        "fifo": (2, "fifo: is a FIFO; use -f - to read from a pipe"),
        "loop": (2, "loop: too many levels of symbolic links"),
        "empty": (2, "empty: no .json, .yaml or .yml files in this directory"),
        "new\nline.json": (2, "new\\x0aline.json:1:2: unexpected end of JSON"),
    }


@pytest.mark.req("B79")
def test_a_device_without_end_stops_at_the_limit() -> None:
    with pytest.raises(CliError, match=r"^/dev/zero: larger than 16777216 bytes \(16 MiB\)$"):
        load(["/dev/zero"])


@pytest.mark.req("B81")
def test_nothing_is_fetched() -> None:
    with pytest.raises(CliError, match="only files are read, nothing is fetched"):
        load(["http://localhost:1/bundle.yaml"])


def test_a_directory_is_read_in_name_order(tmp_path: Path) -> None:
    for name in ("b.yaml", "a.json", "c.txt"):
        (tmp_path / name).write_text(f'{{"kind": "pool", "metadata": {{"name": "{name[0]}"}}}}', encoding="utf-8")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "d.yml").write_text('{"kind": "pool", "metadata": {"name": "d"}}', encoding="utf-8")
    flat, deep = load([str(tmp_path)]), load([str(tmp_path)], recursive=True)
    assert ([one.name for one in flat], [one.name for one in deep]) == (["a", "b"], ["a", "b", "d"])
