# syntax=docker/dockerfile:1
# The command `memory-os` with everything server mode needs. Build: docker compose build

FROM python:3.13-slim-bookworm AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv /opt/memory-os
# The packages first: they change less often than the code, and every one is checked against its hash.
COPY requirements-server.lock /src/
RUN /opt/memory-os/bin/pip install --require-hashes --requirement /src/requirements-server.lock
COPY pyproject.toml README.md LICENSE /src/
COPY layers /src/layers
COPY workers /src/workers
COPY plugins /src/plugins
RUN /opt/memory-os/bin/pip install --no-deps /src

FROM python:3.13-slim-bookworm
RUN useradd --uid 1000 --create-home memory
COPY --from=build /opt/memory-os /opt/memory-os
ENV PATH=/opt/memory-os/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER memory
WORKDIR /home/memory
ENTRYPOINT ["memory-os"]
CMD ["worker"]
