# One image, three entry points: quotree-webhook, quotree-reconciler and quotree-dashboard. What it holds is decided in
# dev/image/steps, here and where no container engine is (`make image`).
# BASE names another place of the same image, such as a mirror of yours (`make image BASE=`).
ARG BASE=docker.io/library/python:3.13-slim
FROM ${BASE} AS build
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL
WORKDIR /src
COPY runtime.lock pyproject.toml README.md LICENSE ./
COPY cli cli
COPY dashboard dashboard
COPY reconciler reconciler
COPY shared shared
COPY webhook webhook
COPY dev/__init__.py dev/__init__.py
COPY dev/image dev/image
RUN python3 -m dev.image.steps /src /layers

FROM scratch
LABEL org.opencontainers.image.title="quotree" \
      org.opencontainers.image.description="Hierarchical elastic quota for Kubernetes" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /layers/base /
COPY --from=build /layers/app /
ENV PATH=/venv/bin:/usr/local/bin:/usr/bin PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 65532:65532
CMD ["quotree-reconciler", "--help"]
