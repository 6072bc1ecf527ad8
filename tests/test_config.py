"""Configuration: one typed object, each value with its origin, errors that name the key."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from memory_os.config import (
    ENVIRONMENT,
    SECRET_KEYS,
    Settings,
    Values,
    default_settings,
    flat_values,
    keep_secrets,
    load_settings,
    set_value,
)
from memory_os.errors import ConfigError
from ruamel.yaml import YAML


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "memory-os").mkdir()
    return tmp_path


def load(home: Path, text: str = "", **environ: str) -> Settings:
    if text:
        (home / "memory-os" / "config.yaml").write_text(text, "utf-8")
    return load_settings(environ, hermes_home=home)


def test_without_a_file_everything_is_default(home: Path) -> None:
    settings = load(home)
    assert settings.values == Values()
    assert settings.origins == {}
    assert settings.home == home / "memory-os"
    assert settings.fabric_dir == home / "fabric"
    assert settings.vault == home / "vault"
    assert settings.socket == home / "memory-os" / "run" / "service.sock"
    assert (settings.profile, settings.agent) == ("default", "default")


def test_the_environment_wins_over_the_file_and_each_value_knows_its_origin(home: Path) -> None:
    settings = load(
        home,
        "fabric_dir: /srv/fabric\nrecall:\n  max_tokens: 700\nservice:\n  log_level: ERROR\n",
        FABRIC_DIR="/mnt/shared",
        MEMORY_OS_LOG_LEVEL="DEBUG",
    )
    assert settings.fabric_dir == Path("/mnt/shared")
    assert settings.values.recall.max_tokens == 700
    assert settings.values.service.log_level == "DEBUG"
    assert settings.origins == {
        "fabric_dir": "FABRIC_DIR", "recall.max_tokens": "config.yaml", "service.log_level": "MEMORY_OS_LOG_LEVEL",
    }  # fmt: skip


def test_an_empty_variable_is_none(home: Path) -> None:
    assert load(home, FABRIC_DIR="").fabric_dir == home / "fabric"


def test_every_variable_sets_a_key_that_exists() -> None:
    assert set(ENVIRONMENT.values()) <= set(flat_values(Values()))


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("recal: {}", "recal"),
        ("recall: {max_token: 5}", "recall.max_token"),
        ("recall: {max_tokens: many}", "recall.max_tokens"),
        ("recall: {max_tokens: 5}", "recall.max_tokens"),
        ("recall: {max_lines: 0}", "recall.max_lines"),
        ("recall: {min_probability: 1.5}", "recall.min_probability"),
        ("recall: {min_probability: .nan}", "recall.min_probability"),
        ("recall: {off_sessions: all}", "recall.off_sessions"),
        ("recall: [1, 2]", "recall"),
        ("service: {host: 0.0.0.0}", "service.host"),
        ("service: {port: 70000}", "service.port"),
        ("service: {log_level: debug}", "service.log_level"),
        ("facts: {half_life_days: 0}", "facts.half_life_days"),
        ("embedding: {model: gpt}", "embedding.engine"),
        ("embedding: {model: ''}", "embedding.model"),
        ("scopes: {aliases: {'telegram:42': 7}}", "scopes.aliases.telegram:42"),
        ("fabric_dir: ''", "fabric_dir"),
        ("fabric_dir: 5", "fabric_dir"),
        ("vault_path: ~no-such-user-here/vault", "vault_path"),
        ("service: {socket: ~no-such-user-here/s.sock}", "service.socket"),
    ],
)
def test_a_wrong_key_or_value_is_named(home: Path, text: str, key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(home, text)
    assert caught.value.message.startswith(f"{key} (config.yaml)")


def test_a_null_character_is_refused_with_its_key(home: Path) -> None:
    (home / "memory-os" / "config.yaml").write_text('vault_path: "a\\0b"\n')
    with pytest.raises(ConfigError, match=r"vault_path \(config.yaml\) holds a null character"):
        load_settings({}, hermes_home=home)


def test_an_error_lists_accepted_values_as_they_must_be_written(home: Path) -> None:
    with pytest.raises(ConfigError, match=r"'DEBUG', 'INFO', 'WARNING' or 'ERROR', not 'debug'"):
        load(home, "service: {log_level: debug}")


def test_an_error_names_the_variable_it_came_from(home: Path) -> None:
    with pytest.raises(ConfigError, match=r"service\.log_level \(MEMORY_OS_LOG_LEVEL\).*'loud'"):
        load(home, MEMORY_OS_LOG_LEVEL="loud")


def test_all_wrong_keys_are_named_at_once(home: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(home, "one: 1\nrecall: {max_lines: 0}\n")
    assert "one (config.yaml)" in caught.value.message
    assert "recall.max_lines" in caught.value.message


@pytest.mark.parametrize("text", ["[1, 2", "a: b: c", "- a\n- b", "just words", "a: 1\na: 2\n", "\tagent: x"])
def test_a_file_that_holds_no_keys_is_refused(home: Path, text: str) -> None:
    with pytest.raises(ConfigError, match=r"config\.yaml"):
        load(home, text)


def test_a_file_that_is_not_text_is_refused(home: Path) -> None:
    (home / "memory-os" / "config.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match=r"config\.yaml"):
        load(home)


def test_an_empty_file_and_one_of_comments_are_fine(home: Path) -> None:
    assert load(home, "# nothing yet\n").values == Values()


def test_relative_paths_and_the_tilde_become_absolute(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    settings = load(home, "fabric_dir: ~/fabric\nvault_path: ../vault\nservice: {socket: s.sock}\n")
    assert settings.fabric_dir == Path("/home/someone/fabric")
    assert settings.vault == home / "vault"
    assert settings.socket == home / "memory-os" / "s.sock"


def test_a_profile_is_named_after_its_folder(tmp_path: Path) -> None:
    settings = load_settings({}, hermes_home=tmp_path / "profiles" / "work")
    assert (settings.profile, settings.agent) == ("work", "work")


def test_our_home_may_lie_elsewhere(tmp_path: Path) -> None:
    settings = load_settings({"HERMES_HOME": str(tmp_path / "h"), "MEMORY_OS_HOME": str(tmp_path / "m")})
    assert (settings.hermes_home, settings.home) == (tmp_path / "h", tmp_path / "m")


def test_the_folders_of_a_home_with_a_broken_file_are_still_known(home: Path) -> None:
    (home / "memory-os" / "config.yaml").write_text("[", "utf-8")
    assert default_settings({}, hermes_home=home).run_dir == home / "memory-os" / "run"


def test_a_key_is_set_and_comments_are_kept(home: Path) -> None:
    settings = load(home, "# mine\nrecall:\n  max_lines: 4  # few\n")
    set_value(settings, "recall.max_tokens", "900")
    text = settings.config_file.read_text("utf-8")
    assert "# mine" in text
    assert "# few" in text
    assert YAML(typ="safe").load(text) == {"recall": {"max_lines": 4, "max_tokens": 900}}
    assert stat.S_IMODE(settings.config_file.stat().st_mode) == 0o600


def test_a_first_key_makes_the_file(tmp_path: Path) -> None:
    settings = load_settings({}, hermes_home=tmp_path)
    set_value(settings, "agent", "北京")
    assert load_settings({}, hermes_home=tmp_path).agent == "北京"


@pytest.mark.parametrize(
    ("key", "value"), [("recall.max_tokens", "5"), ("no.such", "1"), ("agent", "[1"), ("agent", "7"), ("recall", "on")]
)
def test_a_wrong_value_is_not_written(home: Path, key: str, value: str) -> None:
    settings = load(home, "agent: me\n")
    with pytest.raises(ConfigError, match=key.partition(".")[0]):
        set_value(settings, key, value)
    assert settings.config_file.read_text("utf-8") == "agent: me\n"


@pytest.mark.parametrize("text", ["[", "- a\n"])
def test_a_broken_file_is_not_overwritten(home: Path, text: str) -> None:
    (home / "memory-os" / "config.yaml").write_text(text, "utf-8")
    with pytest.raises(ConfigError, match=r"config\.yaml"):
        set_value(default_settings({}, hermes_home=home), "agent", "me")
    assert (home / "memory-os" / "config.yaml").read_text("utf-8") == text


def test_flat_values_name_every_key_once() -> None:
    flat = flat_values(Values())
    assert flat["recall.min_probability"] == 0.7
    assert flat["service.socket"] is None
    assert flat["scopes.aliases"] == {}
    assert all("{" not in key for key in flat)


def test_a_bottomless_file_is_a_config_error(tmp_path: Path) -> None:
    folder = tmp_path / "memory-os"
    folder.mkdir()
    (folder / "config.yaml").write_text("[" * 50_000, "utf-8")
    with pytest.raises(ConfigError, match="nested too deeply"):
        load_settings({}, hermes_home=tmp_path)


@pytest.mark.parametrize(
    "address", ["qdrant:6333", "ftp://qdrant:6333", "http://:6333", "http://host:port", "http://me:secret@host", "http://host?a=b"]
)
def test_an_address_of_a_vector_server_is_a_web_address_without_a_secret_in_it(tmp_path: Path, address: str) -> None:
    with pytest.raises(ConfigError, match=r"servers\.qdrant_url") as met:
        load_settings({"MEMORY_OS_QDRANT_URL": address}, hermes_home=tmp_path)
    assert "secret@" not in str(met.value)
    settings = load_settings({"MEMORY_OS_QDRANT_URL": "https://qdrant.example:6333/prefix/"}, hermes_home=tmp_path)
    assert settings.values.servers.qdrant_url == "https://qdrant.example:6333/prefix"


def test_a_secret_is_read_and_never_shown_or_taken_from_a_command_line(tmp_path: Path) -> None:
    settings = load_settings({"QDRANT_API_KEY": "s3cret-key"}, hermes_home=tmp_path)
    assert settings.values.servers.qdrant_api_key.get_secret_value() == "s3cret-key"
    assert "s3cret" not in repr(settings) + repr(flat_values(settings.values))
    assert flat_values(settings.values)["servers.qdrant_api_key"] == "**********"
    with pytest.raises(ConfigError, match="QDRANT_API_KEY"):
        set_value(settings, "servers.qdrant_api_key", "s3cret-key")
    assert not settings.config_file.exists()
    settings.home.mkdir(parents=True, exist_ok=True)
    settings.config_file.write_text("servers: {qdrant_api_key: 90210}")
    with pytest.raises(ConfigError, match=r"servers\.qdrant_api_key") as met:
        load_settings({}, hermes_home=tmp_path)
    assert "90210" not in str(met.value)


@pytest.mark.parametrize(
    "address",
    ["redis://:hidden@h", "redis://me:hidden@h:1/2", "redis://h?password=hidden", "redis://:a/hidden@h", "redis://:a#hidden@h",
     "unix://:hidden@/run/a.sock", ":hidden@h:6379", "http://:hidden@h", "redis://:hidden@[h"],
)  # fmt: skip
def test_an_address_of_a_queue_has_no_password_in_it(tmp_path: Path, address: str) -> None:
    with pytest.raises(ConfigError, match=r"servers\.redis_url") as met:
        load_settings({"MEMORY_OS_REDIS_URL": address}, hermes_home=tmp_path)
    assert "hidden" not in str(met.value)
    for fine in ("redis://me@h:6380/2", "rediss://h?ssl_ca_certs=/a.pem", "unix:///run/a@b.sock?db=1"):
        assert load_settings({"MEMORY_OS_REDIS_URL": fine}, hermes_home=tmp_path).values.servers.redis_url == fine


@pytest.mark.parametrize("key", sorted(SECRET_KEYS))
def test_no_secret_is_taken_from_a_command_line(tmp_path: Path, key: str) -> None:
    settings = load_settings({}, hermes_home=tmp_path)
    with pytest.raises(ConfigError) as met:
        set_value(settings, key, "https://x.example/hidden")
    assert str(settings.config_file) in met.value.cure and "hidden" not in str(met.value)
    settings.home.mkdir(parents=True)
    section, name = key.split(".")
    settings.config_file.write_text(f"{section}: {{{name}: 'https://x.example/hidden'}}\n", "utf-8")
    read = load_settings({}, hermes_home=tmp_path)
    assert flat_values(read.values)[key] == "**********"


def test_the_file_is_its_owners_alone(tmp_path: Path) -> None:
    settings = load_settings({}, hermes_home=tmp_path)
    settings.home.mkdir(parents=True)
    settings.config_file.write_text("# mine\n", "utf-8")
    settings.config_file.chmod(0o644)
    keep_secrets(settings, {"QDRANT_API_KEY": "k"})
    assert [(path.name, path.stat().st_mode & 0o777) for path in settings.home.iterdir()] == [("config.yaml", 0o600)]


def test_secrets_of_the_environment_are_kept_in_the_file(tmp_path: Path) -> None:
    settings = load_settings({}, hermes_home=tmp_path)
    settings.home.mkdir(parents=True)
    settings.config_file.write_text("# mine\nrecall:\n  max_lines: 9\n", "utf-8")
    assert keep_secrets(settings, {"QDRANT_API_KEY": "it's: 1", "MEMORY_OS_REDIS_PASSWORD": "", "PATH": "/bin"}) == ["QDRANT_API_KEY"]
    assert settings.config_file.stat().st_mode & 0o777 == 0o600
    assert settings.config_file.read_text("utf-8").startswith("# mine\n")
    values = load_settings({}, hermes_home=tmp_path).values
    assert values.servers.qdrant_api_key.get_secret_value() == "it's: 1"
    assert values.recall.max_lines == 9


def test_an_empty_text_empties_a_setting(tmp_path: Path) -> None:
    settings = load_settings({}, hermes_home=tmp_path)
    set_value(settings, "servers.redis_url", "redis://127.0.0.1:6379/0")
    set_value(settings, "servers.redis_url", "")
    assert load_settings({}, hermes_home=tmp_path).values.servers.redis_url == ""
    with pytest.raises(ConfigError, match=r"recall\.max_lines"):
        set_value(settings, "recall.max_lines", "")
