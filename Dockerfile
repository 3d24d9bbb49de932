# One image, two entry points: quotree-webhook and quotree-reconciler.
FROM python:3.13-slim AS build
WORKDIR /src
RUN python -m venv /venv
COPY runtime.lock ./
RUN /venv/bin/pip install --no-cache-dir --require-hashes -r runtime.lock
COPY pyproject.toml README.md LICENSE ./
COPY cli cli
COPY reconciler reconciler
COPY shared shared
COPY webhook webhook
RUN python -m venv /build && /build/bin/pip install --no-cache-dir 'hatchling>=1.27' \
    && /build/bin/pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /wheels . \
    && /venv/bin/pip install --no-cache-dir --no-deps /wheels/*.whl \
    && python -m compileall -q /venv

FROM python:3.13-slim
LABEL org.opencontainers.image.title="quotree" \
      org.opencontainers.image.description="Hierarchical elastic quota for Kubernetes" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /venv /venv
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 65532:65532
CMD ["quotree-reconciler", "--help"]
