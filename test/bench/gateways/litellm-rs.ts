import { DatabaseSync } from "node:sqlite";
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import * as z from "zod";
import { freePort, LOOPBACK } from "../../../local/process/ports.ts";
import { modelOf, pathOf } from "../pairs.ts";
import { startChild } from "./child.ts";
import type { Gateway } from "./gateway.ts";

const INSTALL =
  "cargo install litellm-rs --version 0.9.0 --locked --no-default-features --features sqlite,tracing --root <folder>";
const USER = { username: "bench", email: "bench@example.com", password: `Aa1-${randomBytes(12).toString("hex")}` };
/** Of its catalogue: it refuses models whose price it does not know. */
const PRICED_AS = "gpt-4o-mini";

/** LiteLLM-RS, a Rust program that checks keys and counts what each costs in SQLite. It serves chat servers to chat clients only. */
export async function startLiteLlmRs(setting: { upstreamUrl: string; directory: string }): Promise<Gateway> {
  const program = process.env["LITELLM_RS"];
  if (program === undefined)
    throw new Error(`LITELLM_RS must be the path of <folder>/bin/gateway, which \`${INSTALL}\` compiles in half an hour.`);
  const port = await freePort();
  const baseUrl = `http://${LOOPBACK}:${port}`;
  const config = path.join(setting.directory, "litellm-rs.yaml");
  const database = path.join(setting.directory, "litellm-rs.sqlite");
  // JSON is YAML.
  await writeFile(config, JSON.stringify(configuration(setting.upstreamUrl, port, database)), { mode: 0o600 });
  const child = await startChild({
    name: "LiteLLM-RS",
    program,
    parameters: ["--config", config, "--log-level", "error"],
    environment: { NO_PROXY: LOOPBACK },
    directory: setting.directory,
    readyUrl: `${baseUrl}/health`,
    logFile: path.join(setting.directory, "litellm-rs.log"),
  });
  const key = await createKey(baseUrl, database);
  return {
    name: "LiteLLM-RS",
    target: ({ client }) => ({ url: baseUrl + pathOf(client), headers: { authorization: `ApiKey ${key}` } }),
    parts: { litellmRs: child.pid },
    settled: async () => {},
    stop: () => child.stop(),
  };
}

/** An administrator's, who is made one in the database: there is no other way to the first. */
async function createKey(baseUrl: string, database: string): Promise<string> {
  const send = async (target: string, body: object, headers: Record<string, string> = {}) => {
    const response = await fetch(baseUrl + target, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${target} of LiteLLM-RS answers ${response.status}: ${await response.text()}`);
    return response.json();
  };
  await send("/auth/register", { ...USER, full_name: "Bench" });
  const users = new DatabaseSync(database);
  users.exec("UPDATE users SET status = 'active', role = 'admin', email_verified = 1");
  users.close();
  const signedIn = z.object({ data: z.object({ access_token: z.string() }) }).parse(await send("/auth/login", USER));
  const authorization = `Bearer ${signedIn.data.access_token}`;
  const created = await send("/v1/keys", { name: "bench" }, { authorization });
  return z.object({ data: z.object({ key: z.string() }) }).parse(created).data.key;
}

function configuration(upstreamUrl: string, port: number, database: string): object {
  return {
    schema_version: "1.0",
    server: { host: LOOPBACK, port, workers: 2, max_connections: 5_000, dev_mode: false },
    providers: [
      {
        name: "chat",
        provider_type: "openai",
        api_key: "sk-bench",
        base_url: `${upstreamUrl}/v1`,
        endpoint_access: "private_network",
        models: [modelOf("chat")],
        max_concurrent_requests: 5_000,
        rpm: 10_000_000,
        tpm: 4_000_000_000,
        settings: {
          model_identity_mappings: { [modelOf("chat")]: { capability_catalog_model: PRICED_AS, pricing_model: PRICED_AS } },
        },
        enabled: true,
      },
    ],
    router: { strategy: "priority_based" },
    storage: {
      database: { url: `sqlite://${database}?mode=rwc`, enabled: true, auto_migrate: true },
      redis: { url: "redis://localhost:6379", enabled: false },
    },
    auth: {
      enable_jwt: true,
      enable_api_key: true,
      jwt_secret: `Aa${randomBytes(24).toString("hex")}`,
      api_key_hmac_secret: `Aa${randomBytes(24).toString("hex")}`,
      api_key_header: "Authorization",
    },
    guardrails: { enabled: false },
    monitoring: { metrics: { enabled: false }, tracing: { enabled: false } },
    pricing: { source: "embedded://model_prices_extended", unpriced_model_policy: "reject" },
    rate_limit: { enabled: false },
  };
}
