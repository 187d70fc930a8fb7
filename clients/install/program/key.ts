import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { keysPage, type Context } from "./context.ts";
import { findCommand } from "./find-tools.ts";
import { Stopped } from "./refused.ts";
import type { Terminal } from "./terminal.ts";

/** @throws Stopped if there is no key, or if it cannot be one. */
export async function readKey(context: Context, terminal: Terminal | undefined): Promise<string> {
  const page = keysPage(context);
  const given = context.environment["MODEL_GATEWAY_API_KEY"];
  const key = given ? given : await terminal?.ask(`Key (create one at ${page}; it is not shown): `, { isSecret: true });
  if (!key) throw new Stopped(`No key: set the environment variable MODEL_GATEWAY_API_KEY. Create a key at ${page}`);
  if (/[*…]/.test(key))
    throw new Stopped(
      `This is the masked form of a key. The full key is shown once, when it is created: create a new one at ${page}`,
    );
  if (!key.startsWith("sk-mg-"))
    throw new Stopped(`This is not a key of this service: those start with sk-mg-. Create one at ${page}`);
  if (!/^sk-mg-[0-9A-Za-z]+$/.test(key))
    throw new Stopped("This is not a complete key: it contains an invalid character. Copy it again.");
  return key;
}

interface Answer {
  status: number;
  body: string;
}

const WITHIN_SECONDS = 30;

/** The one call with the key: the names of the models that it may use. */
export async function checkKey(context: Context, key: string): Promise<Set<string>> {
  const { baseUrl } = context.served;
  context.print(`Checking the key with ${baseUrl} …`);
  const { status, body } = await askForModels(context, key);
  switch (status) {
    case 200:
      context.print("The key works.");
      return new Set(idsIn(body));
    case 0:
      throw new Stopped(`${baseUrl} cannot be reached from here. Nothing was changed.`);
    case 401:
      throw new Stopped(
        `The service does not know this key, or it was deleted, disabled or has expired. Create a new one at ${keysPage(context)}. Nothing was changed.`,
      );
    default:
      throw new Stopped(`The service answered with status ${status}. Nothing was changed: try again later.`);
  }
}

/** curl uses the machine's proxy and certificates; it reads the key from standard input, where no process list shows it. */
async function askForModels(context: Context, key: string): Promise<Answer> {
  const url = `${context.served.baseUrl}/v1/models`;
  const curl = findCommand("curl", context);
  if (curl === undefined) return fetchModels(url, key);
  const child = spawn(
    curl,
    ["-q", "--config", "-", "--silent", "--max-time", String(WITHIN_SECONDS), "--write-out", String.raw`\n%{http_code}`],
    {
      stdio: ["pipe", "pipe", "ignore"],
    },
  );
  child.stdin.on("error", () => {});
  child.stdin.end(`url = "${url}"\nheader = "authorization: Bearer ${key}"\nheader = "accept: application/json"\n`);
  const [output] = await Promise.all([text(child.stdout), once(child, "close")]);
  const end = output.lastIndexOf("\n");
  return { status: Number(output.slice(end + 1)), body: output.slice(0, Math.max(end, 0)) };
}

async function fetchModels(url: string, key: string): Promise<Answer> {
  const signal = AbortSignal.timeout(WITHIN_SECONDS * 1000);
  try {
    const response = await fetch(url, { headers: { authorization: `Bearer ${key}` }, redirect: "manual", signal });
    return { status: response.status, body: await response.text() };
  } catch {
    return { status: 0, body: "" };
  }
}

/** The list is ours: `{"data": [{"id": …}]}`. */
function idsIn(body: string): string[] {
  let list: unknown;
  try {
    list = JSON.parse(body);
  } catch (cause) {
    throw new Stopped("The service's list of models cannot be read. Nothing was changed: try again later.", { cause });
  }
  const models: unknown = typeof list === "object" && list !== null && "data" in list ? list.data : [];
  return (Array.isArray(models) ? models : []).flatMap((model: unknown) =>
    typeof model === "object" && model !== null && "id" in model && typeof model.id === "string" ? [model.id] : [],
  );
}
