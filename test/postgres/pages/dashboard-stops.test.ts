import { once } from "node:events";
import { connect, Socket, type AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { openDashboard } from "../../support/dashboard/dashboard.ts";
import { eventually } from "../../support/eventually.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

const postgres = usePostgres();
const addressSchema: z.ZodType<Pick<AddressInfo, "port">> = z.object({ port: z.number() });
const socketsSchema = z.tuple([z.instanceof(Socket)]);

test("a page requested while the dashboard shuts down is served, and its connection ends", async () => {
  const { database } = await postgres.migrated();
  const { app } = await openDashboard(database);
  await app.listen({ host: "127.0.0.1", port: 0 });
  const accepted = once(app.server, "connection");
  const socket = connect(addressSchema.parse(app.server.address()).port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  const [serverSocket] = socketsSchema.parse(await accepted);
  // A request has begun, so its connection is not idle; it is routed after the dashboard has begun to stop.
  socket.write("GET /dashboard/sign-in HTTP/1.1\r\n");
  await eventually(() => expect(serverSocket.bytesRead).toBeGreaterThan(0));
  const closed = app.close();
  socket.write("host: gateway.example\r\n\r\n");
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(Buffer.from(chunk));
  const answer = Buffer.concat(chunks).toString("utf8");
  expect(answer).toMatch(/^HTTP\/1\.1 200 /);
  expect(answer).toMatch(/\r\nconnection: close\r\n/i);
  expect(answer).toContain("</h1>");
  await closed;
});
