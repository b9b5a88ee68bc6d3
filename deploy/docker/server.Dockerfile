# An image with penstock-server and penstock, without CUDA.
#   docker build -f deploy/docker/server.Dockerfile -t penstock-server .
FROM debian:12-slim AS tools
WORKDIR /src
COPY .ci/packages-programs.txt .ci/install.sh .ci/
RUN .ci/install.sh programs && rm -rf /var/lib/apt/lists/*

FROM tools AS build
COPY . .
ARG PENSTOCK_COMMIT=unknown
RUN --mount=type=cache,target=/root/.cache/ccache \
    cmake --preset release -DPENSTOCK_COMMIT="$PENSTOCK_COMMIT" \
      -DPENSTOCK_TESTS=OFF -DPENSTOCK_BENCHMARKS=OFF -DPENSTOCK_CUDA=OFF \
 && cmake --build --preset release --target penstock penstock-server \
 && strip build/release/bin/penstock build/release/bin/penstock-server
RUN deploy/docker/runtime_packages.sh build/release/bin/penstock build/release/bin/penstock-server \
      > build/runtime-packages.txt

FROM debian:12-slim
COPY --from=build /src/build/runtime-packages.txt /usr/share/penstock/
# The versions are those of Debian 12, as the build stage linked them. ca-certificates is for
# penstock's TLS.
# hadolint ignore=DL3008
RUN apt-get update -qq \
 && xargs -a /usr/share/penstock/runtime-packages.txt \
      apt-get install -y -qq --no-install-recommends ca-certificates \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin penstock
COPY --from=build /src/build/release/bin/penstock /src/build/release/bin/penstock-server /usr/bin/
USER 10001
EXPOSE 7070 7071 9464
VOLUME /data
# See docs/guides/security.md for TLS and tokens. Without TLS, an address that other machines can
# reach needs --insecure.
ENTRYPOINT ["penstock-server", "--data-root", "/data"]
CMD ["--listen", "127.0.0.1:7070"]
# Kubernetes ignores this and has its own probes. If the server needs TLS or a token, set
# PENSTOCK_HEALTHCHECK to the options of penstock top: "--servers localhost:7070 --tls ...".
ENV PENSTOCK_HEALTHCHECK="--servers 127.0.0.1:7070"
HEALTHCHECK --interval=10s --timeout=10s --start-period=60s \
  CMD ["sh", "-c", "penstock top --once $PENSTOCK_HEALTHCHECK || exit 1"]
