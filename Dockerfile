# syntax=docker/dockerfile:1
# Two stages: the first installs from the lock file and builds the package, the second has only what runs.
FROM python:3.13-slim-bookworm AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 BUILD=/opt/build VIRTUAL_ENV=/opt/befund
WORKDIR /src
COPY requirements/build.txt requirements/server.txt requirements/
RUN python3 -m venv "$BUILD" \
  && "$BUILD/bin/pip" install --require-hashes --requirement requirements/build.txt \
  && python3 -m venv "$VIRTUAL_ENV" \
  && "$VIRTUAL_ENV/bin/pip" install --require-hashes --requirement requirements/server.txt
COPY pyproject.toml README.md LICENSE ./
COPY service service
COPY clients clients
COPY data data
RUN "$BUILD/bin/python" -m hatchling build --target wheel --directory dist \
  && "$VIRTUAL_ENV/bin/pip" install --no-deps dist/*.whl \
  && "$VIRTUAL_ENV/bin/befund" --version

FROM python:3.13-slim-bookworm
LABEL org.opencontainers.image.title="Befund" \
  org.opencontainers.image.description="Evaluation service for retrieval-augmented generation" \
  org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/befund /opt/befund
# The root file system may be read-only: all that is written lies in the volume.
ENV PATH=/opt/befund/bin:$PATH \
  PYTHONDONTWRITEBYTECODE=1 \
  PYTHONUNBUFFERED=1 \
  HOME=/tmp \
  BEFUND_DATA_DIR=/var/lib/befund \
  BEFUND_LISTEN=0.0.0.0:8080
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin befund \
  && install -d -o befund -g befund -m 0700 /var/lib/befund
USER 10001:10001
VOLUME /var/lib/befund
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=3s --start-period=20s \
  CMD ["python3", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8080/healthz', timeout=2)"]
ENTRYPOINT ["befund"]
CMD ["serve"]
