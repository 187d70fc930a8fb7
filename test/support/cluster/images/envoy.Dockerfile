# Stands for Envoy's own image: the Envoy that npm start runs.
FROM docker.io/library/debian:bookworm-slim
COPY envoy /usr/local/bin/envoy
