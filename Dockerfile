# The same steps as `make run`, in an image. Build: docker build -t stemma .   Run: docker run --rm -v stemma-state:/app/.stemma stemma
# On a machine without a GPU, add: --build-arg TORCH_INDEX=<the address of PyTorch's own CPU index>
FROM python:3.11-slim-bookworm

ARG TORCH_INDEX=""

# gcc and cmake: a test dependency has no wheel; git: DVC and the history of a run ask for it.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends build-essential cmake git make \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 stemma \
    && mkdir /app \
    && chown stemma:stemma /app

USER 1000
WORKDIR /app

# the dependencies first: they change least
COPY --chown=stemma:stemma Makefile pyproject.toml requirements.lock README.md LICENSE ./
COPY --chown=stemma:stemma src/stemma/__init__.py src/stemma/
RUN make install TORCH_INDEX="${TORCH_INDEX}"

COPY --chown=stemma:stemma . .
ENV PATH=/app/.venv/bin:$PATH \
    DO_NOT_TRACK=1

ENTRYPOINT ["make"]
CMD ["run"]
