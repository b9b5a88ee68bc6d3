# An image with penstock-train and penstock. By default it is for GPUs, with the CUDA libraries that
# are loaded at run time.
#   docker build -f deploy/docker/trainer.Dockerfile -t penstock-trainer .
#   docker build -f deploy/docker/trainer.Dockerfile --target cpu -t penstock-trainer:cpu .
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
 && cmake --build --preset release --target penstock penstock-train \
 && strip build/release/bin/penstock build/release/bin/penstock-train
RUN deploy/docker/runtime_packages.sh build/release/bin/penstock build/release/bin/penstock-train \
      > build/runtime-packages.txt

FROM debian:12-slim AS cpu
COPY --from=build /src/build/runtime-packages.txt /usr/share/penstock/
# The versions are those of Debian 12, as the build stage linked them.
# hadolint ignore=DL3008
RUN apt-get update -qq \
 && xargs -a /usr/share/penstock/runtime-packages.txt \
      apt-get install -y -qq --no-install-recommends ca-certificates \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 10001 --create-home --shell /usr/sbin/nologin penstock
COPY --from=build /src/build/release/bin/penstock /src/build/release/bin/penstock-train /usr/bin/
USER 10001
WORKDIR /home/penstock
VOLUME /data
ENTRYPOINT ["penstock-train"]
CMD ["--help"]

# This installs nvcc and the libraries. CMake and nvcc look for cudart where the links are.
FROM tools AS cuda
COPY deploy/docker/cuda-requirements.txt /tmp/
# hadolint ignore=DL3008
RUN apt-get update -qq \
 && apt-get install -y -qq --no-install-recommends python3-venv \
 && rm -rf /var/lib/apt/lists/* \
 && python3 -m venv /opt/pip \
 && /opt/pip/bin/pip install --no-cache-dir --no-deps --target /opt/cuda \
      -r /tmp/cuda-requirements.txt \
 && ln -s lib /opt/cuda/nvidia/cu13/lib64 \
 && ln -s libcudart.so.13 /opt/cuda/nvidia/cu13/lib/libcudart.so

FROM build AS cuda-build
RUN --mount=type=cache,target=/root/.cache/ccache \
    --mount=type=bind,from=cuda,source=/opt/cuda,target=/opt/cuda \
    CUDACXX=/opt/cuda/nvidia/cu13/bin/nvcc cmake --preset release -DPENSTOCK_CUDA=ON \
      -DPENSTOCK_TESTS=OFF -DPENSTOCK_BENCHMARKS=OFF \
      -DPENSTOCK_CUDA_ARCHITECTURES="80-real;90a-real;80-virtual" \
 && cmake --build --preset release --target penstock-train \
 && strip build/release/bin/penstock-train

FROM cpu
COPY --from=cuda /opt/cuda/nvidia/cu13/lib/libcublasLt.so.13 \
     /opt/cuda/nvidia/cu13/lib/libcupti.so.13 /opt/cuda/nvidia/nccl/lib/libnccl.so.2 /opt/nvidia/
COPY --from=cuda-build /src/build/release/bin/penstock-train /usr/bin/
ENV PENSTOCK_CUDA_LIBS=/opt/nvidia \
    NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility
