# Stands for the official image: the PostgreSQL of the tests, and Debian's client programs.
FROM docker.io/library/debian:bookworm-slim
RUN apt-get update --quiet && apt-get install --yes --quiet --no-install-recommends postgresql-client && rm -rf /var/lib/apt/lists/*
COPY native /usr/local/postgres
COPY --chmod=755 postgres-entrypoint.sh /entrypoint.sh
RUN groupadd --gid 999 postgres && useradd --uid 999 --gid 999 --no-create-home postgres
ENTRYPOINT ["/entrypoint.sh"]
# As the official image: SIGTERM would wait until all clients have gone.
STOPSIGNAL SIGINT
