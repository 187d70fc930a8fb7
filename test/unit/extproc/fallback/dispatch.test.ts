import { expect, test } from "vitest";
import { planDispatch, type Dispatch, type DispatchPlan } from "../../../../extproc/fallback/dispatch.ts";
import { parseForm } from "../../../../extproc/protocol/form/form-body.ts";
import { FORM_RULES } from "../../../../extproc/protocol/form/form-rules.ts";
import { parseBody } from "../../../../extproc/protocol/json/parse-body.ts";
import { createBackendHealth } from "../../../../extproc/route/backend-health.ts";
import { collectGarbage } from "../../../support/collect-garbage.ts";
import { formHeaders, writeForm } from "../../../support/dashboard/forms.ts";
import { catalogueModel } from "../../../support/billing/ledger.ts";

const JSON_BODY = Buffer.from(JSON.stringify({ model: "m", messages: [{ role: "user", content: "x".repeat(1_000_000) }] }));
const formWith = (file: string) =>
  writeForm([
    ["model", "m"],
    [file, { filename: "a", bytes: Buffer.alloc(1_000_000) }],
  ]);
const FORMS = {
  transcription: { bytes: formWith("file"), rules: FORM_RULES.recording },
  image_generation: { bytes: formWith("image"), rules: FORM_RULES.edit },
} as const;

const clock = { nowMs: () => 0 };

function plan(
  request: Pick<DispatchPlan, "client" | "received" | "body" | "headers" | "model">,
  health = createBackendHealth({ clock }),
): Dispatch {
  return planDispatch(
    {
      ...request,
      outputTokens: 100,
      requestId: "0192d4e5-0000-7000-8000-000000000000",
      nowSeconds: 0,
      wantsStream: false,
      keyId: "key",
      early: null,
    },
    {
      health,
      events: { attemptFailed() {} },
      openAttempts: { add() {}, remove() {} },
      worker: 0,
      clock,
      random: () => 0,
    },
  );
}

/** A request that was sent to the only backend of its model; only these two references are left. */
function send(client: "chat" | keyof typeof FORMS): { dispatch: Dispatch; received: WeakRef<Buffer> } {
  const form = client === "chat" ? undefined : FORMS[client];
  const received = Buffer.from(form?.bytes ?? JSON_BODY);
  const headers = form === undefined ? new Map<string, string>() : formHeaders();
  const dispatch = plan({
    client,
    received,
    body: form === undefined ? parseBody(received, { headers, interface: client }) : parseForm(received, headers, form.rules),
    headers,
    model: catalogueModel("m", client === "chat" ? {} : { interfaces: [client] }),
  });
  dispatch.forward();
  return { dispatch, received: new WeakRef(received) };
}

test("the pause that all of a model's servers have requested is measured by a clock that nobody sets", () => {
  const steady = { now: 5_000 };
  const health = createBackendHealth({ clock: { nowMs: () => steady.now } });
  const model = catalogueModel("m");
  const [only] = model.backends;
  if (only === undefined) throw new Error("The model has no backend.");
  const backends = ["a", "b"].map((name) => ({ ...only, name, cluster: name }));
  for (const { cluster } of backends) health.failed(cluster, { isRateLimit: true, retryAfterMs: 30_000 });
  steady.now += 10_000;
  const headers = new Map<string, string>();
  const body = parseBody(JSON_BODY, { headers, interface: "chat" });
  const request = { client: "chat", received: JSON_BODY, body, headers, model: { ...model, backends } } as const;
  expect(() => plan(request, health)).toThrow(
    expect.objectContaining({ code: "rate_limited", headers: { "retry-after": "20" } }),
  );
});

test.for(["chat", "transcription", "image_generation"] as const)(
  "a request of %s that was sent is not kept until its answer",
  async (client) => {
    const { dispatch, received } = send(client);
    // What a WeakRef was made from stays until the end of its turn.
    await new Promise(setImmediate);
    collectGarbage();
    expect(received.deref()).toBeUndefined();
    expect(dispatch.backend().upstreamModel).not.toBe("");
  },
);
