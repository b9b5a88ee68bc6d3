# penstock-train and penstock; by default with the CUDA libraries that are loaded at run time.
#   docker build -f deploy/docker/trainer.Dockerfile -t penstock-trainer .
#   docker build -f deploy/docker/trainer.Dockerfile --target cpu -t penstock-trainer:cpu .
FROM debian:12-slim AS build
WORKDIR /src
COPY .ci/packages.txt .ci/install.sh .ci/
RUN .ci/install.sh && rm -rf /var/lib/apt/lists/*
COPY . .
ARG PENSTOCK_COMMIT=unknown
RUN cmake --preset release -DPENSTOCK_COMMIT="$PENSTOCK_COMMIT" \
 && cmake --build --preset release --target penstock penstock-train \
 && strip build/release/bin/penstock build/release/bin/penstock-train
RUN deploy/docker/runtime_packages.sh build/release/bin/penstock build/release/bin/penstock-train \
      > build/runtime-packages.txt

FROM debian:12-slim AS cpu
COPY --from=build /src/build/runtime-packages.txt /usr/share/penstock/
# Versions are those of Debian 12, as the build stage linked them.
# hadolint ignore=DL3008
RUN apt-get update -qq \
 && xargs -a /usr/share/penstock/runtime-packages.txt \
      apt-get install -y -qq --no-install-recommends \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 10001 --create-home --shell /usr/sbin/nologin penstock
COPY --from=build /src/build/release/bin/penstock /src/build/release/bin/penstock-train /usr/bin/
USER 10001
WORKDIR /home/penstock
VOLUME /data
ENTRYPOINT ["penstock-train"]
CMD ["--help"]

FROM debian:12-slim AS cuda-libraries
# hadolint ignore=DL3008
RUN apt-get update -qq \
 && apt-get install -y -qq --no-install-recommends python3-pip \
 && rm -rf /var/lib/apt/lists/*
COPY deploy/docker/cuda-requirements.txt /tmp/
RUN pip install --no-cache-dir --target /opt/cuda -r /tmp/cuda-requirements.txt

FROM cpu
COPY --from=cuda-libraries /opt/cuda/nvidia /opt/nvidia
ENV LD_LIBRARY_PATH=/opt/nvidia/cublas/lib:/opt/nvidia/nccl/lib \
    NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility
