import { connect } from "node:net";
import { once } from "node:events";
import { ServerCredentials } from "@grpc/grpc-js";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { createOperatorEvents } from "../../../../operator/events.ts";
import { startXdsServer } from "../../../../operator/xds/serve.ts";
import { createLog } from "../../../../runtime/log.ts";

test.for(["127.0.0.1", "::1"])("discovery listens on %s, as pods of a cluster with one family of addresses do", async (host) => {
  const log = createLog({ process: "operator", level: "info" }, { write: () => undefined });
  const events = createOperatorEvents({ log, metrics: new Registry() });
  const server = await startXdsServer({ host, port: 0, credentials: ServerCredentials.createInsecure() }, { events });
  try {
    const socket = connect({ host, port: server.port });
    await once(socket, "connect");
    socket.destroy();
    expect(server.port).toBeGreaterThan(0);
  } finally {
    await server.stop();
  }
});
