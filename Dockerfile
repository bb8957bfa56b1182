# SPDX-License-Identifier: Apache-2.0
# The operator: the wheel of this tree in a Python environment, over Debian's Python.
#
#   docker build --tag nova-compute-operator .
#   docker run --read-only --tmpfs /tmp --volume $KUBECONFIG:/kubeconfig:ro --env KUBECONFIG=/kubeconfig nova-compute-operator

ARG BASE=docker.io/library/debian:bookworm-slim@sha256:96e378d7e6531ac9a15ad505478fcc2e69f371b10f5cdf87857c4b8188404716

# --- what the finished image has of Debian
FROM ${BASE} AS runtime
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates python3 tini \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt /var/log/apt /var/log/dpkg.log \
 && useradd --uid 65532 --user-group --no-create-home --home-dir /tmp --shell /usr/sbin/nologin nova-compute

# --- the environment, made beside it
FROM runtime AS build
# Before this stage adds its own: what the image consists of.
RUN dpkg-query --show --showformat '${Package}\t${Version}\t${Architecture}\t${source:Package}\n' > /tmp/debian.tsv
RUN apt-get update && apt-get install --yes --no-install-recommends python3-venv
WORKDIR /src
COPY requirements/product.txt requirements/build.txt requirements/
# The tools that build the wheel stay in this stage. Nothing is compiled: every dependency comes as a wheel.
RUN python3 -m venv /tools \
 && /tools/bin/pip install --no-cache-dir --only-binary :all: --require-hashes --requirement requirements/build.txt \
 && python3 -m venv --without-pip /opt/operator \
 && /tools/bin/pip --python /opt/operator/bin/python install --no-cache-dir --only-binary :all: \
    --require-hashes --requirement requirements/product.txt
COPY . .
RUN /tools/bin/python -m hatchling build --target wheel --directory /tmp/dist \
 && /tools/bin/pip --python /opt/operator/bin/python install --no-cache-dir --no-deps /tmp/dist/*.whl \
 && /opt/operator/bin/python tools/slim.py \
 && /opt/operator/bin/python tools/sbom.py /tmp/debian.tsv > /opt/operator/sbom.cdx.json

# --- the image
FROM runtime
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="nova-compute-operator" \
      org.opencontainers.image.description="Runs node pools of OpenStack Nova computes on Kubernetes" \
      org.opencontainers.image.source="https://github.com/c5c3/nova-compute-operator" \
      org.opencontainers.image.licenses="Apache-2.0 AND GPL-3.0-or-later" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /opt/operator /opt/operator
ENV PATH=/opt/operator/bin:/usr/bin:/bin \
    PYTHONDONTWRITEBYTECODE=1 \
    LANG=C.UTF-8 \
    HOME=/tmp
USER 65532:65532
# Its child processes leave orphans, which tini reaps.
ENTRYPOINT ["/usr/bin/tini", "--", "/opt/operator/bin/nova-compute-operator"]
# For engines other than Kubernetes, which has probes of its own.
HEALTHCHECK --interval=20s --timeout=5s --start-period=15s \
  CMD ["/opt/operator/bin/python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8081/healthz', timeout=4)"]
