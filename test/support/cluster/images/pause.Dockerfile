# Holds a pod's network namespace.
FROM docker.io/library/debian:bookworm-slim
ENTRYPOINT ["sleep", "infinity"]
