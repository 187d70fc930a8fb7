#!/bin/sh
# As the official image's: heeds POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB and PGDATA.
set -e
export PATH="/usr/local/postgres/bin:$PATH"
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  mkdir -p "$PGDATA"
  chmod 700 "$PGDATA"
  umask 077
  printf %s "$POSTGRES_PASSWORD" > /tmp/password
  initdb --pgdata "$PGDATA" --username "$POSTGRES_USER" --pwfile /tmp/password \
    --auth-host scram-sha-256 --auth-local trust --encoding UTF8 --locale C
  rm /tmp/password
  echo "host all all all scram-sha-256" >> "$PGDATA/pg_hba.conf"
  echo "CREATE DATABASE \"$POSTGRES_DB\"" | postgres --single -D "$PGDATA" postgres
fi
exec postgres -D "$PGDATA" -c listen_addresses='*' -c unix_socket_directories=/var/run/postgresql "$@"
