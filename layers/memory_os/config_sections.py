"""What config.yaml may hold: one class a section, every key with its type, its bounds and its default."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import parse_qs, urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationInfo, field_validator

from memory_os import constants
from memory_os.loopback import is_loopback_host


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=False)


class ServiceSettings(_Section):
    """`memory-os serve`."""

    host: Literal["", "127.0.0.1", "::1", "localhost"] = Field("", description="loopback address; empty: socket only")
    port: Annotated[int, Field(ge=0, le=65535)] = Field(0, description="TCP port; 0: socket only")
    socket: Path | None = Field(None, description="unix socket; default run/service.sock")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"

    @field_validator("socket")
    @classmethod
    def _of_a_known_home(cls, value: Path | None) -> Path | None:
        return _known_home(value)


class RecallSettings(_Section):
    enabled: bool = True
    max_tokens: Annotated[int, Field(ge=100, le=8000)] = constants.BLOCK_MAX_TOKENS
    max_lines: Annotated[int, Field(ge=1, le=100)] = 16
    min_probability: Annotated[float, Field(ge=0, le=1)] = Field(
        0.7, description="what the best line must reach to be shown"
    )
    off_sessions: list[str] = Field(default_factory=list, description="session ids without recall and capture")


class CaptureSettings(_Section):
    enabled: bool = True
    import_history: bool = Field(True, description="take earlier sessions over from Hermes's state.db")


BUNDLED_MODEL = "multilingual-e5-small"


class EmbeddingSettings(_Section):
    """The model that texts are embedded with. Another one means `memory-os reindex`."""

    model: str = Field(BUNDLED_MODEL, min_length=1, description="its name where `engine` finds it")
    threads: Annotated[int, Field(ge=1, le=64)] = 2
    engine: Literal["auto", "onnx", "wheel", "endpoint", "fastembed"] = Field(
        "auto",
        description="wheel: the slow engine of the model's wheel; endpoint: an OpenAI-compatible one",
        validate_default=True,
    )
    base_url: str = Field("", description="engine endpoint: its address, e.g. http://127.0.0.1:11434/v1")
    api_key_variable: str = Field("", description="engine endpoint: the variable, in the environment or Hermes's .env, with the key")
    folder: Path | None = Field(
        None, description="engine fastembed: a folder with the model's files, where no hub can be reached; relative to memory-os's"
    )
    pooling: Literal["auto", "mean", "cls", "last_token"] = Field(
        "auto", description="engine fastembed with a folder: how a text's vector comes from its tokens'; auto: as the folder says"
    )
    query_prefix: str | None = Field(None, description="what the model wants before a question, e.g. 'query: '; none: as its family does")
    passage_prefix: str | None = Field(None, description="what the model wants before a text, e.g. 'passage: '; none: as its family does")

    @field_validator("engine")
    @classmethod
    def _has_the_model(cls, value: str, info: ValidationInfo) -> str:
        model = info.data.get("model", BUNDLED_MODEL)
        if value in ("auto", "onnx", "wheel") and model != BUNDLED_MODEL:
            raise ValueError(f"{model} is not in a wheel of ours: set engine to endpoint or fastembed")
        return value

    @field_validator("folder")
    @classmethod
    def _of_a_known_home(cls, value: Path | None) -> Path | None:
        return _known_home(value)


class FactSettings(_Section):
    half_life_days: Annotated[float, Field(gt=0)] = Field(180.0, description="evidence fades toward the prior")


class Patience(_Section):
    """Time-outs of one class of calls to a model, in seconds; the start values, until enough calls were observed."""

    whole: Annotated[float, Field(gt=0)] = Field(120.0, description="the whole call")
    first: Annotated[float, Field(gt=0)] = Field(60.0, description="until the first token")
    between: Annotated[float, Field(gt=0)] = Field(20.0, description="between two tokens")
    deadline: Annotated[float, Field(gt=0)] = Field(600.0, description="over all attempts and waits of one question")


class PatienceSettings(_Section):
    """A class of calls each. A probe is short: it only asks whether somebody is there."""

    extraction: Patience = Patience()
    curation: Patience = Patience(whole=240.0)
    dialectic: Patience = Patience(whole=45.0, first=20.0, between=10.0, deadline=90.0)
    reflection: Patience = Patience()
    embedding: Patience = Patience(whole=30.0, first=30.0, between=30.0, deadline=120.0)
    probe: Patience = Patience(whole=15.0, first=10.0, between=10.0, deadline=15.0)


class Price(_Section):
    """Model units: (input x tokens in + output x tokens out) / 1000."""

    input: Annotated[float, Field(ge=0)] = 1.0
    output: Annotated[float, Field(ge=0)] = 4.0


class EndpointSettings(_Section):
    """Where one model is."""

    provider: Literal["hermes", "openai", "anthropic", "none"] = Field(
        "none", description="hermes: the model Hermes is configured with; openai: any endpoint that speaks like it"
    )
    base_url: str = Field("", description="e.g. http://127.0.0.1:11434/v1; hermes: taken from Hermes's config")
    model: str = Field("", description="its name there; hermes: taken from Hermes's config")
    api_key_variable: str = Field("", description="the variable, in the environment or Hermes's .env, with the key")


class ModelSettings(EndpointSettings):
    """The language model for extraction, curation and reasoning. Recall and capture need none."""

    provider: Literal["hermes", "openai", "anthropic", "none"] = Field(
        "hermes", description="hermes: the model Hermes is configured with; openai: any endpoint that speaks like it"
    )
    jobs: list[Literal["extraction", "curation", "dialectic", "reflection"]] = Field(
        default=["extraction", "curation", "dialectic", "reflection"], description="what it may be asked for"
    )
    light_model: str = Field("", description="a cheaper model of the same endpoint, used near a budget's end")
    embedding_model: str = Field("", description="for embeddings at the same endpoint")
    fallback: EndpointSettings = Field(EndpointSettings(), description="asked where the first can't be reached")
    context_tokens: Annotated[int, Field(ge=1000)] = Field(32_000, description="what the model takes, answer included")
    small: bool = Field(False, description="a model of less than about 3 billion parameters: it is asked for less")
    concurrency: Annotated[int, Field(ge=1, le=64)] = Field(2, description="calls at a time; a probe needs no place")
    retry_budget: Annotated[float, Field(ge=1, le=20)] = Field(
        4.0, description="what one question may spend on attempts, in multiples of its own tokens"
    )
    prices: dict[str, Price] = Field(default_factory=dict, description="by pattern of names; the first match counts")
    budget_per_day: Annotated[float, Field(ge=0)] = Field(500.0, description="model units a day over all jobs")
    job_budgets: dict[Literal["extraction", "curation", "dialectic", "reflection", "embedding"], float] = Field(
        default_factory=dict, description="model units a day for one job, within the whole"
    )
    light_from: Annotated[float, Field(gt=0, le=1)] = Field(0.8, description="share of a budget, then light_model")
    patience: PatienceSettings = PatienceSettings()
    local_patience: Annotated[float, Field(ge=1, le=20)] = Field(
        4.0, description="an endpoint on this machine gets that many times the time: it has a slower processor"
    )


class ServerSettings(_Section):
    """Addresses of servers; without one its part runs embedded."""

    qdrant_url: str = Field("", description="http(s)://host:port of a Qdrant server; empty: vectors live in process")
    qdrant_api_key: SecretStr = Field(SecretStr(""), description="better kept in QDRANT_API_KEY than in a file")
    qdrant_ca_file: Path | None = Field(None, description="PEM file of the authority that signed its certificate")
    redis_url: str = Field("", description="redis://, rediss:// or unix://; empty: the bundled Valkey")
    redis_password: SecretStr = Field(SecretStr(""), description="better kept in MEMORY_OS_REDIS_PASSWORD than in a file")

    @field_validator("qdrant_url")
    @classmethod
    def _web_address(cls, value: str) -> str:
        """Without a key or password in it: an address is shown in `status`."""
        try:
            parts = urlsplit(value)
            port = parts.port
        except ValueError as error:
            raise ValueError("the port is no number") from error
        if value and (parts.scheme not in ("http", "https") or not parts.hostname or port == 0):
            raise ValueError("give http://host:port or https://host:port")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError("leave out user, password, query and fragment; the key belongs into QDRANT_API_KEY")
        return value.rstrip("/")

    @field_validator("redis_url")
    @classmethod
    def _without_a_password(cls, value: str) -> str:
        """Whether it is an address of a queue is the queue's to say; that no secret stands in it is said here."""
        try:
            parts = urlsplit(value)
            # A password with "/", "?" or "#" in it moves the "@" out of the part that names the host.
            beyond = ("" if parts.scheme == "unix" else parts.path) + parts.query + parts.fragment
            named = parse_qs(parts.query, keep_blank_values=True)
            secret = parts.password is not None or "@" in beyond or "password" in named
        except ValueError:
            raise ValueError("give redis://host:port, rediss://host:port or unix:///path") from None
        if secret:
            raise ValueError("leave the password out; it belongs into MEMORY_OS_REDIS_PASSWORD")
        return value

    @field_validator("qdrant_ca_file")
    @classmethod
    def _of_a_known_home(cls, value: Path | None) -> Path | None:
        return _known_home(value)


class WorkerSettings(_Section):
    """`memory-os worker`, the service's own and any other."""

    embedded: bool = Field(True, description="the service runs a worker of its own")
    concurrency: Annotated[int, Field(ge=1, le=64)] = Field(4, description="jobs a worker runs at a time")
    threads: Annotated[int, Field(ge=1, le=64)] = Field(2, description="of the embedding model in a worker")


class DocumentSettings(_Section):
    """Which files are followed, and how."""

    follow: bool = Field(True, description="keep what `memory-os ingest` took, and the wiki, in step with the files")
    events: Literal["auto", "poll", "off"] = Field(
        "auto", description="how changes are noticed at once; poll: by looking"
    )
    settle_s: Annotated[float, Field(ge=0, le=600)] = Field(
        2.0, description="a file is at rest this long after a write"
    )


class WikiSettings(_Section):
    """Curation of `wiki/raw`; `memory-os wiki`."""

    units_per_file: Annotated[float, Field(gt=0)] = Field(100.0, description="model units one raw file may cost")
    units_per_run: Annotated[float, Field(gt=0)] = Field(200.0, description="model units one run may cost")
    stale_days: Annotated[int, Field(ge=1)] = Field(90, description="a page so far behind its newest source is stale")


class UnderstandingSettings(_Section):
    """Extraction from turns; see docs/understanding.md. Nothing happens without a model."""

    enabled: bool = Field(True, description="sessions turn into facts, entries and learnings by themselves")
    idle_minutes: Annotated[float, Field(ge=0, le=10_000)] = Field(20.0, description="a session at rest so long is read")
    turns: Annotated[int, Field(ge=1, le=1000)] = Field(20, description="a session that goes on is read every so many turns")
    budget_tokens: Annotated[int, Field(ge=400, le=500_000)] = Field(16_000, description="of turns in one question")
    history_tokens: Annotated[int, Field(ge=0, le=10_000_000)] = Field(
        20_000, description="tokens a day of sessions from before memory-os; 0: none"
    )
    person_mode: Literal["hybrid", "context", "tools"] = Field(
        "hybrid", description="the picture of the person: in a first turn's block (context), by tools, or both"
    )
    person_depth: Annotated[int, Field(ge=1, le=3)] = Field(2, description="1: assess; 2: audit too; 3: reconcile too")
    person_wait_seconds: Annotated[float, Field(ge=0, le=8)] = Field(
        4.0, description="how long peer_reasoning waits for a model's answer"
    )
    person_hours: Annotated[float, Field(ge=0, le=10_000)] = Field(24.0, description="how long a picture stays after a change")
    reflection_idle_minutes: Annotated[float, Field(ge=0, le=10_000)] = Field(30.0, description="of silence before reflection")
    reflection_units: Annotated[float, Field(ge=0)] = Field(20.0, description="model units an hour for reflection; 0: none")


class GroundTruthSettings(_Section):
    carrier: Literal["soul", "section"] = Field("soul", description="where the rules stand: SOUL.md or prompt section")
    mode: Literal["observe", "point", "hold"] = Field("observe", description="a search for what stands in the prompt")


# Those that may be left out; the others keep memory in step with what it follows.
DutyName = Literal["canary", "decay", "duplicates", "dead_letters", "full_backup", "backup", "tiers", "rotation"]


class MaintenanceSettings(_Section):
    """What memory does for its own health; see docs/maintenance.md."""

    off: list[DutyName] = Field(default_factory=list, description="which of these duties never run by themselves")
    archive_after_days: Annotated[float, Field(ge=0, le=36_500)] = Field(
        365.0, description="when an agent's unasked-for words leave recall; 0: never"
    )
    backups_kept: Annotated[int, Field(ge=1, le=100)] = Field(4, description="full backups kept, the newest")
    backup_wiki: bool = Field(True, description="copy the vault's wiki into full backups too")


class AlertSettings(_Section):
    """Where a duty's failure is told, once an episode, and its recovery."""

    command: list[str] = Field(default_factory=list, description="program and arguments; JSON comes on its input")
    webhook: str = Field("", description="https address, or http on loopback, that gets the JSON by POST")

    @field_validator("webhook")
    @classmethod
    def _private(cls, value: str) -> str:
        try:
            address = urlsplit(value)
            host = address.hostname or ""
        except ValueError:
            raise ValueError("give an https address, or an http one on loopback") from None
        if value and not (host and (address.scheme == "https" or (address.scheme == "http" and is_loopback_host(host)))):
            raise ValueError("give an https address, or an http one on loopback")
        return value


class ScopeSettings(_Section):
    aliases: dict[str, str] = Field(
        default_factory=dict, description="one person, several senders, e.g. {'telegram:42': 'local'}"
    )


class Values(_Section):
    """What config.yaml may hold."""

    agent: str = Field("", description="this instance's name in a shared fabric; default: the profile's name")
    fabric_dir: Path | None = Field(None, description="shared Markdown folder; default $HERMES_HOME/fabric")
    vault_path: Path | None = Field(None, description="the vault with wiki/raw; default $HERMES_HOME/vault")
    service: ServiceSettings = ServiceSettings()
    recall: RecallSettings = RecallSettings()
    capture: CaptureSettings = CaptureSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    facts: FactSettings = FactSettings()
    models: ModelSettings = ModelSettings()
    servers: ServerSettings = ServerSettings()
    workers: WorkerSettings = WorkerSettings()
    documents: DocumentSettings = DocumentSettings()
    wiki: WikiSettings = WikiSettings()
    understanding: UnderstandingSettings = UnderstandingSettings()
    ground_truth: GroundTruthSettings = GroundTruthSettings()
    scopes: ScopeSettings = ScopeSettings()
    maintenance: MaintenanceSettings = MaintenanceSettings()
    alerts: AlertSettings = AlertSettings()

    @field_validator("fabric_dir", "vault_path")
    @classmethod
    def _not_empty(cls, value: Path | None) -> Path | None:
        if value is not None and str(value).strip() in ("", "."):
            raise ValueError("give a folder, or leave the key out for the default")
        return _known_home(value)


def _known_home(value: Path | None) -> Path | None:
    """Refuse `~nobody/folder` at load, under its key."""
    try:
        return value if value is None else Path(value.expanduser())
    except RuntimeError as error:
        raise ValueError("there is no such home folder") from error
