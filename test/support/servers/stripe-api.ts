import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { LOOPBACK } from "../../../local/process/ports.ts";

interface Asked {
  method: string;
  path: string;
  idempotencyKey: string;
  body: URLSearchParams;
}

interface Intent {
  id: string;
  object: "payment_intent";
  status: string;
  amount_received: number;
  currency: string;
  metadata: { auto_top_up: string };
}

/** Stripe's API as far as saved cards need it, with its memory of idempotency keys. */
export interface StripeApi {
  url: URL;
  asked: readonly Asked[];
  /** All charges that were made. */
  intents: readonly Intent[];
  /** The result of the next charges: "lost" is made, but its answer does not arrive; "down" is not made. */
  mood: "pays" | "declines" | "lost" | "down";
}

export async function startStripeApi(): Promise<StripeApi> {
  const asked: Asked[] = [];
  const intents: Intent[] = [];
  const answers = new Map<string, { status: number; body: unknown }>();
  const api: StripeApi = { url: new URL(`http://${LOOPBACK}`), asked, intents, mood: "pays" };

  function charge({ body, idempotencyKey }: Asked): { status: number; body: unknown } {
    const known = answers.get(idempotencyKey);
    if (known !== undefined) return known;
    const isPaid = api.mood !== "declines";
    const intent: Intent = {
      id: `pi_${intents.length + 1}`,
      object: "payment_intent",
      status: isPaid ? "succeeded" : "requires_payment_method",
      amount_received: isPaid ? Number(body.get("amount")) : 0,
      currency: "usd",
      metadata: { auto_top_up: body.get("metadata[auto_top_up]") ?? "" },
    };
    intents.push(intent);
    const error = { type: "card_error", code: "card_declined", message: "Your card was declined.", payment_intent: intent };
    const answer = isPaid ? { status: 200, body: intent } : { status: 402, body: { error } };
    answers.set(idempotencyKey, answer);
    return answer;
  }

  function answerTo(request: Asked): { status: number; body: unknown } {
    const [path] = request.path.split("?");
    if (path === "/v1/checkout/sessions")
      return { status: 200, body: { id: "cs_1", object: "checkout.session", url: "https://checkout.stripe.com/c/setup/cs_1" } };
    if (path?.startsWith("/v1/setup_intents/seti_") === true) {
      const last4 = path.slice(-4);
      const method = { id: `pm_${last4}`, object: "payment_method", type: "card", card: { brand: "visa", last4 } };
      return { status: 200, body: { id: `seti_${last4}`, object: "setup_intent", customer: "cus_1", payment_method: method } };
    }
    if (path?.endsWith("/detach") === true) return { status: 200, body: { object: "payment_method" } };
    if (path === "/v1/payment_intents" && request.method === "GET")
      return { status: 200, body: { object: "list", url: path, has_more: false, data: intents } };
    if (path === "/v1/payment_intents" && api.mood === "down")
      return { status: 503, body: { error: { type: "api_error", message: "Down." } } };
    if (path === "/v1/payment_intents") return charge(request);
    return { status: 404, body: { error: { type: "invalid_request_error", message: "There is no such thing." } } };
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url: path = "", method = "", headers } = request;
    const one = {
      method,
      path,
      idempotencyKey: String(headers["idempotency-key"] ?? ""),
      body: new URLSearchParams(await text(request)),
    };
    asked.push(one);
    const { status, body } = answerTo(one);
    if (api.mood === "lost" && method === "POST") return void response.destroy();
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(body));
  }

  const server = createServer((request, response) => void serve(request, response));
  await new Promise<void>((resolve) => server.listen(0, LOOPBACK, resolve));
  onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve())));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  api.url.port = String(address.port);
  return api;
}
