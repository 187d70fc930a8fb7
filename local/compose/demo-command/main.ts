import process from "node:process";
import * as z from "zod";
import { createDatabase } from "../../../ledger/postgres/database.ts";
import { readEnvOrExit } from "../../../runtime/env.ts";
import { INACTIVE_ACCOUNT, prepareDemo } from "../../demo.ts";
import { chatCommand, chooseModel, messagesCommand, shownPassword } from "../../screen.ts";
import { listServed } from "../../served.ts";

/**
 * `docker compose run --rm demo`: creates an account with play money, its key, and a person for the dashboard, once. Prints what
 * `npm start` shows; none of it is in a service's log.
 */
const settings = readEnvOrExit(
  {
    DATABASE_URL: z.string().min(1),
    KEY_PEPPER: z.base64().min(44, "must be at least 32 random bytes in base64"),
    PUBLIC_BASE_URL: z.url(),
    /** Envoy, as this container reaches it. */
    DEMO_GATEWAY_URL: z.url(),
    /** File with the key and the password. */
    DEMO_SETTINGS: z.string().min(1),
  },
  process.env,
);
const database = createDatabase({ url: settings.DATABASE_URL, applicationName: "demo" });
try {
  const baseUrl = settings.PUBLIC_BASE_URL;
  const { apiKey, email, password, isActive } = await prepareDemo(database, {
    pepper: Buffer.from(settings.KEY_PEPPER, "base64"),
    settings: settings.DEMO_SETTINGS,
    baseUrl,
  });
  const signal = new AbortController().signal;
  const served = await listServed({ baseUrl: settings.DEMO_GATEWAY_URL, apiKey, signal });
  const models = { destinations: new Map(), upstreamModel: undefined };
  const printed = { baseUrl, apiKey, hasProxy: false };
  const chat = chooseModel(served.chat, "modelx-v4-pro", models);
  const messages = chooseModel(served.messages, "modelx-v4-flash", models);
  const lines = [
    ...(isActive ? [] : [INACTIVE_ACCOUNT, ""]),
    `The gateway is at ${baseUrl}`,
    "",
    `  key        ${apiKey}`,
    `  dashboard  ${baseUrl}/dashboard`,
    `  email      ${email}`,
    `  password   ${shownPassword(password)}`,
    "",
    ...(chat === undefined ? [] : [chatCommand(printed, chat), ""]),
    ...(messages === undefined ? [] : [messagesCommand(printed, messages), ""]),
    ...(chat === undefined && messages === undefined
      ? ["No Model is served yet: docker compose logs operator shows which manifest is invalid."]
      : []),
  ];
  console.log(lines.join("\n"));
} finally {
  await database.close();
}
