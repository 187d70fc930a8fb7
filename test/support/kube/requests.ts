import { Agent, request } from "node:https";
import { text } from "node:stream/consumers";
import * as z from "zod";
import { LOOPBACK } from "../../../local/process/ports.ts";
import { errorCode } from "../../../runtime/error-code.ts";

/** How a change is written: a whole object, a part that is merged, or what its manager wants of it (server-side apply). */
const CONTENT_TYPES = {
  POST: "application/json",
  MERGE: "application/merge-patch+json",
  APPLY: "application/apply-patch+yaml",
} as const;

interface Change {
  how: keyof typeof CONTENT_TYPES;
  content: object;
}

/** Requests of the administrator to one API server, on connections that stay open: to start kubectl costs a hundred times as much. */
export interface KubeRequests {
  /**
   * Reads the resource, or changes it.
   * @returns the parsed answer.
   * @throws Error with the server's words, as kubectl prints them.
   */
  send(resource: string, change?: Change): Promise<unknown>;
  close(): void;
}

/** A server that a test has paused answers nothing. */
const READ_WITHIN_MS = 5_000;
const CHANGE_WITHIN_MS = 60_000;

const refusalSchema = z.object({
  reason: z.string(),
  message: z.string(),
  details: z
    .object({
      kind: z.string().default(""),
      name: z.string().default(""),
      causes: z.array(z.object({ field: z.string().default(""), message: z.string() })).default([]),
    })
    .prefault({}),
});

/** A refusal in kubectl's words, which list the fields of an invalid object. */
function wordsOf({ reason, message, details }: z.infer<typeof refusalSchema>): string {
  const causes = [...new Set(details.causes.map((cause) => `${cause.field}: ${cause.message}`))];
  if (reason !== "Invalid" || causes.length === 0) return `Error from server (${reason}): ${message}`;
  const list = causes.length === 1 ? causes[0] : causes.map((cause) => `\n* ${cause}`).join("");
  return `The ${details.kind} "${details.name}" is invalid: ${list}`;
}

export function createRequests({ port, ca, adminToken }: { port: number; ca: string; adminToken: string }): KubeRequests {
  const agent = new Agent({ keepAlive: true, ca });

  async function attempt(resource: string, change: Change | undefined): Promise<{ status: number | undefined; body: string }> {
    const sent = request({
      host: LOOPBACK,
      port,
      path: resource,
      method: change === undefined ? "GET" : change.how === "POST" ? "POST" : "PATCH",
      headers: {
        authorization: `Bearer ${adminToken}`,
        ...(change === undefined ? {} : { "content-type": CONTENT_TYPES[change.how] }),
      },
      agent,
      timeout: change === undefined ? READ_WITHIN_MS : CHANGE_WITHIN_MS,
    });
    sent.once("timeout", () => sent.destroy(new Error("no answer")));
    try {
      return await new Promise((resolve, reject) => {
        sent.once(
          "response",
          (response) => void text(response).then((body) => resolve({ status: response.statusCode, body }), reject),
        );
        sent.once("error", reject);
        sent.end(change === undefined ? undefined : JSON.stringify(change.content));
      });
    } catch (error) {
      // The server ended, or was killed, since the connection was last used.
      if (sent.reusedSocket && errorCode(error) === "ECONNRESET") return await attempt(resource, change);
      throw error;
    }
  }

  return {
    async send(resource, change) {
      const { status = 0, body } = await attempt(resource, change);
      if (status >= 200 && status < 300) return JSON.parse(body);
      throw new Error(wordsOf(refusalSchema.parse(JSON.parse(body))));
    },
    close: () => agent.destroy(),
  };
}
