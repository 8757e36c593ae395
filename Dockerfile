# Two stages: the first has pip and the build backend, the second only what serves.
FROM python:3.12-slim AS build

RUN python -m venv /srv/holdfast
WORKDIR /src
COPY requirements-service.lock ./
RUN /srv/holdfast/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes -r requirements-service.lock
COPY pyproject.toml README.md LICENSE ./
COPY service ./service
COPY client ./client
COPY migrations ./migrations
RUN /srv/holdfast/bin/pip install --no-cache-dir --disable-pip-version-check --no-deps --no-build-isolation . \
    && /srv/holdfast/bin/pip uninstall --yes --quiet hatchling pathspec pluggy tomlkit trove-classifiers \
    && /srv/holdfast/bin/pip check \
    && /srv/holdfast/bin/python -m compileall -q /srv/holdfast

FROM python:3.12-slim

RUN groupadd --gid 10001 holdfast \
    && useradd --uid 10001 --gid holdfast --no-create-home --shell /usr/sbin/nologin holdfast \
    && install --directory --owner holdfast --group holdfast /data
COPY --from=build /srv/holdfast /srv/holdfast

# Nothing is written outside /data: run it with a read-only root file system.
ENV PATH=/srv/holdfast/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    OPENBLAS_NUM_THREADS=1 \
    OMP_NUM_THREADS=1 \
    HOLDFAST_HOST=0.0.0.0 \
    HOLDFAST_PORT=8000 \
    HOLDFAST_DATABASE_URL=sqlite:////data/holdfast.db
USER holdfast
WORKDIR /data
VOLUME /data
EXPOSE 8000
STOPSIGNAL SIGTERM

HEALTHCHECK --interval=5s --timeout=3s --start-period=30s --retries=3 CMD ["python", "-c", \
    "import os, urllib.request as r; r.urlopen(f\"http://127.0.0.1:{os.environ['HOLDFAST_PORT']}/health/ready\", timeout=2)"]

CMD ["holdfast", "serve"]
