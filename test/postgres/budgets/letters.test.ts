import { once } from "node:events";
import { SMTPServer } from "smtp-server";
import { expect, onTestFinished, test } from "vitest";
import { createOutbox } from "../../../dashboard/mail/outbox.ts";
import { createSmtpMailer } from "../../../dashboard/mail/smtp.ts";
import { sendLowBalanceAlerts } from "../../../dashboard/payments/low-balance.ts";
import { postCredit } from "../../../ledger/credit/entries.ts";
import { setAlertThreshold } from "../../../ledger/payments/balance-alerts.ts";
import { openDashboard } from "../../support/dashboard/dashboard.ts";
import { captureLog } from "../../support/stacks/log.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

/** Letters that no page sends, and how letters leave. */
const postgres = usePostgres();

async function open() {
  const { database } = await postgres.migrated();
  return openDashboard(database);
}

test("owners are notified once for each fall below the threshold, and not of an account that never had that much", async () => {
  const { database, owner, inAccount } = await open();
  const mailer = createOutbox();
  const letters = () => mailer.outbox?.letters ?? [];
  const ann = await owner("ann@example.com");
  await owner("poor@example.com");
  await inAccount(ann.accountId, "member");
  const { log } = captureLog();
  const round = () => sendLowBalanceAlerts({ database, mailer, log, publicBaseUrl: "http://gateway.example" });
  let entries = 0;
  const post = (amountNanoUsd: bigint) =>
    postCredit(database, { accountId: ann.accountId, kind: "adjust", amountNanoUsd, reference: `entry ${++entries}` });

  await round();
  await post(5_000_000_000n);
  await Promise.all([round(), round()]);
  expect(letters()).toEqual([]);
  await post(-4_500_000_000n);
  await Promise.all([round(), round()]);
  await round();
  expect(letters().map(({ letter }) => [letter.to, letter.subject])).toEqual([
    ["ann@example.com", expect.stringContaining("low balance, $0.50 left")],
  ]);
  await post(5_000_000_000n);
  await round();
  await post(-5_000_000_000n);
  await round();
  expect(letters()).toHaveLength(2);

  await post(5_000_000_000n);
  await setAlertThreshold(database, ann.accountId, null);
  await post(-5_000_000_000n);
  await round();
  expect(letters()).toHaveLength(2);
});

test("an owner whose address rejects mail does not keep it from the others, and is not retried forever", async () => {
  const { database, owner, inAccount } = await open();
  const ann = await owner("ann@example.com");
  await inAccount(ann.accountId, "owner", "typo@example.com");
  await postCredit(database, { accountId: ann.accountId, kind: "adjust", amountNanoUsd: 5_000_000_000n, reference: "in" });
  const sent: string[] = [];
  const mailer = {
    outbox: null,
    send: ({ to }: { to: string }) => {
      sent.push(to);
      return to.startsWith("typo") ? Promise.reject(new Error("550")) : Promise.resolve();
    },
  };
  const { log } = captureLog();
  const round = () => sendLowBalanceAlerts({ database, mailer, log, publicBaseUrl: "http://gateway.example" });
  await round();
  await postCredit(database, { accountId: ann.accountId, kind: "adjust", amountNanoUsd: -4_500_000_000n, reference: "out" });
  for (let time = 0; time < 3; time++) await round();
  expect(sent.toSorted()).toEqual(["ann@example.com", "typo@example.com"]);
});

test("an email that could not be sent is sent the next time", async () => {
  const { database, owner } = await open();
  const ann = await owner("ann@example.com");
  const credit = (amountNanoUsd: bigint, reference: string) =>
    postCredit(database, { accountId: ann.accountId, kind: "adjust", amountNanoUsd, reference });
  const { log } = captureLog();
  const working = createOutbox();
  const failing = { outbox: null, send: () => Promise.reject(new Error("no route")) };
  const round = (mailer: typeof working | typeof failing) =>
    sendLowBalanceAlerts({ database, mailer, log, publicBaseUrl: "http://gateway.example" });
  await credit(5_000_000_000n, "one");
  await round(working);
  await credit(-4_500_000_000n, "two");
  await round(failing);
  await round(working);
  expect(working.outbox?.letters).toHaveLength(1);
});

test("emails are sent over SMTP; a name cannot add a header", async () => {
  const received: string[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    onData(stream, _session, done) {
      stream.setEncoding("utf8");
      let text = "";
      stream.on("data", (piece: string) => (text += piece));
      stream.on("end", () => {
        received.push(text);
        done();
      });
    },
  });
  server.listen(0, "127.0.0.1");
  await once(server.server, "listening");
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  const address = server.server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const mailer = createSmtpMailer({ url: `smtp://127.0.0.1:${port}`, from: "Gateway <gateway@example.com>" });
  await mailer.send({ to: "ann@example.com", subject: "Join Evil\r\nBcc: eve@example.com", text: "Hello Ørsted\n.\nline" });
  expect(received).toHaveLength(1);
  const [head = "", body = ""] = (received[0] ?? "").split("\r\n\r\n");
  expect(head).toContain("To: ann@example.com");
  expect(head).not.toMatch(/^bcc:/im);
  expect(Buffer.from(body, "utf8").toString()).toContain("line");
});
