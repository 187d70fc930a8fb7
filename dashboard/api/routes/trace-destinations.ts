import * as z from "zod";
import { GatewayError } from "../../../contract/errors.ts";
import {
  DESTINATION_KINDS,
  findDestination,
  listDestinations,
  type TraceDestination,
  type TraceHeader,
} from "../../../ledger/traces/destinations.ts";
import type { AppDeps } from "../../app-deps.ts";
import type { BatchResult } from "../../traces/answer.ts";
import { destinationName, publicKey, secretKey } from "../../traces/destination-form.ts";
import { langfuseCredentials, traceHeaders } from "../../traces/headers.ts";
import { endpointOf } from "../../traces/send.ts";
import { checkKind, createTraceActions } from "../../traces/trace-actions.ts";
import { callerOf, provenCallerOf } from "../caller.ts";
import type { Api } from "../provider.ts";
import { failures } from "../schemas/error.ts";
import { orOther } from "../schemas/or-other.ts";
import { moment, showMoment, showMomentOrNull, words } from "../schemas/values.ts";

const tags = ["Traces"];
const params = z.object({ id: z.uuid("Must be the ID of a trace destination.") });
const owners = "Requires the owner role.";
const address = words("An address", 2_000);
const headers = z
  .record(z.string(), z.string("A header's value is text."), "Write headers as an object of names and values.")
  .transform((pairs) => Object.entries(pairs))
  .pipe(traceHeaders)
  .meta({ description: "Sent with each batch; stored encrypted, and never shown again" });

const includeContent = z
  .boolean("Must be true or false.")
  .meta({ description: "Whether prompts and answers of keys that record them are sent too" });

const destination = z
  .object({
    id: z.string(),
    name: z.string(),
    kind: orOther(DESTINATION_KINDS),
    url: z.string().meta({ description: "Where batches are posted to; of Langfuse, the address of its server" }),
    endpoint: z.string().meta({ description: "Where batches are posted to" }),
    header_names: z.array(z.string()),
    include_content: includeContent,
    status: z.enum(["active", "failing", "disabled", "failed"]).meta({
      description: "failing: its server does not accept traces; failed: it was disabled because that lasted for three days",
    }),
    problem: z.string().nullable().meta({ description: "Why the last batch was not accepted; null: it was" }),
    remark: z.string().nullable().meta({ description: "What the server remarked about the last batch that it accepted" }),
    sent: z.int().meta({ description: "Requests that it accepted" }),
    rejected: z.int().meta({ description: "Requests that it refused one by one" }),
    skipped: z.int().meta({ description: "Requests that were left out because too many waited, or for more than three days" }),
    waiting: z.int(),
    created_at: moment,
    last_accepted_at: moment.nullable(),
    next_attempt_at: moment.nullable().meta({ description: "null unless it is failing" }),
  })
  .meta({ id: "TraceDestination" });

const testAnswer = z
  .object({
    accepted: z.boolean(),
    problem: z.string().nullable(),
    remark: z.string().nullable(),
  })
  .meta({ id: "TraceTest" });

const newOtlp = z.strictObject({
  kind: z.literal("otlp"),
  name: destinationName,
  url: address.meta({ description: "OTLP over HTTP; without a path, /v1/traces is added" }),
  headers: headers.optional(),
  include_content: includeContent.default(false),
});
const newLangfuse = z.strictObject({
  kind: z.literal("langfuse"),
  name: destinationName,
  url: address.meta({ description: "Such as https://cloud.langfuse.com" }),
  public_key: publicKey,
  secret_key: secretKey,
  include_content: includeContent.default(false),
});

/** Destinations of an account's traces (docs/traces.md). */
export function traceDestinationApi(api: Api, deps: AppDeps): void {
  const { database } = deps;
  const actions = createTraceActions(deps);

  api.get(
    "/trace-destinations",
    {
      schema: {
        tags,
        summary: "List trace destinations",
        description: owners,
        response: { 200: z.object({ data: z.array(destination) }), ...failures },
      },
    },
    async (request) => {
      const { accountId } = callerOf(request, "manageTraces");
      return { data: (await listDestinations(database, accountId)).map(showDestination) };
    },
  );

  api.post(
    "/trace-destinations",
    {
      schema: {
        tags,
        summary: "Add a trace destination",
        description: `It gets the requests that are settled from now on, as OTLP over HTTP. ${owners}`,
        body: z.discriminatedUnion("kind", [newOtlp, newLangfuse], 'The kind must be "otlp" or "langfuse".'),
        response: { 201: destination, ...failures },
      },
    },
    async (request, reply) => {
      const caller = provenCallerOf(request, "manageTraces");
      const { name, url, kind, include_content: includesContent } = request.body;
      const credentials = request.body.kind === "otlp" ? (request.body.headers ?? []) : keysOf(request.body);
      const added = await actions.add(caller, { name, kind, url, headers: credentials, includesContent });
      return reply.status(201).send(showDestination(added));
    },
  );

  api.get(
    "/trace-destinations/:id",
    {
      schema: {
        tags,
        summary: "Get a trace destination",
        description: owners,
        params,
        response: { 200: destination, ...failures },
      },
    },
    async (request) => {
      const { accountId } = callerOf(request, "manageTraces");
      return showDestination(await findDestination(database, { accountId, id: request.params.id }));
    },
  );

  api.patch(
    "/trace-destinations/:id",
    {
      schema: {
        tags,
        summary: "Change, disable or enable a trace destination",
        description: `Omitted fields stay unchanged. A new server needs its headers and keys entered again. While it is disabled, it receives nothing. ${owners}`,
        params,
        body: z.strictObject({
          name: destinationName.optional(),
          url: address.optional(),
          headers: headers.optional(),
          include_content: includeContent.optional(),
          public_key: publicKey.optional(),
          secret_key: secretKey.optional(),
          disabled: z.boolean("Must be true or false.").optional(),
        }),
        response: { 200: destination, ...failures },
      },
    },
    async (request) => {
      const caller = callerOf(request, "manageTraces");
      const { id } = request.params;
      const { name, url, disabled, include_content: includesContent } = request.body;
      const found = await findDestination(database, { accountId: caller.accountId, id });
      const credentials = changedCredentials(found, request.body);
      const isChange = [name, url, credentials, includesContent].some((value) => value !== undefined);
      if (isChange)
        await actions.change(provenCallerOf(request, "manageTraces"), id, { name, url, headers: credentials, includesContent });
      if (disabled === true) await actions.disable(caller, id);
      if (disabled === false) await actions.enable(caller, id);
      return showDestination(await findDestination(database, { accountId: caller.accountId, id }));
    },
  );

  api.delete(
    "/trace-destinations/:id",
    {
      schema: {
        tags,
        summary: "Delete a trace destination",
        description: owners,
        params,
        response: { 204: z.null().meta({ description: "Done." }), ...failures },
      },
    },
    async (request, reply) => {
      await actions.delete(callerOf(request, "manageTraces"), request.params.id);
      return reply.status(204).send(null);
    },
  );

  api.post(
    "/trace-destinations/:id/test",
    {
      schema: {
        tags,
        summary: "Send a test trace",
        description: `A span that is marked as a test, even to a disabled destination; the response is its server's. ${owners}`,
        params,
        response: { 200: testAnswer, ...failures },
      },
    },
    async (request) => showTest(await actions.test(callerOf(request, "manageTraces"), request.params.id)),
  );
}

function keysOf({ public_key: publicKey, secret_key: secretKey }: { public_key: string; secret_key: string }): TraceHeader[] {
  return langfuseCredentials({ publicKey, secretKey });
}

interface CredentialChange {
  headers?: readonly TraceHeader[] | undefined;
  public_key?: string | undefined;
  secret_key?: string | undefined;
}

/** undefined: they stay. @throws GatewayError `invalid_request` for those of the other kind, and for one key without the other. */
function changedCredentials(
  found: TraceDestination,
  { headers: entered, public_key, secret_key }: CredentialChange,
): readonly TraceHeader[] | undefined {
  if (entered !== undefined) checkKind(found, "otlp", "headers");
  if (public_key !== undefined) checkKind(found, "langfuse", "public_key");
  if (secret_key !== undefined) checkKind(found, "langfuse", "secret_key");
  if (public_key === undefined && secret_key === undefined) return entered;
  if (public_key === undefined || secret_key === undefined) {
    const field = public_key === undefined ? "public_key" : "secret_key";
    throw new GatewayError("invalid_request", "Enter both keys of the Langfuse project.", { field });
  }
  return keysOf({ public_key, secret_key });
}

function showDestination(shown: TraceDestination): z.infer<typeof destination> {
  const { id, name, kind, url, headerNames, disabledBy, failingSince, problem, remark } = shown;
  const enabled = failingSince === null ? "active" : "failing";
  return {
    id,
    name,
    kind,
    url,
    endpoint: endpointOf(shown),
    header_names: headerNames,
    include_content: shown.includesContent,
    status: disabledBy === null ? enabled : disabledBy === "failures" ? "failed" : "disabled",
    problem,
    remark,
    sent: Number(shown.sent),
    rejected: Number(shown.rejected),
    skipped: Number(shown.skipped),
    waiting: Number(shown.waiting),
    created_at: showMoment(shown.createdAt),
    last_accepted_at: showMomentOrNull(shown.acceptedAt),
    next_attempt_at: disabledBy === null && failingSince !== null ? showMoment(shown.nextAttemptAt) : null,
  };
}

function showTest(result: BatchResult): z.infer<typeof testAnswer> {
  return result.kind === "accepted"
    ? { accepted: true, problem: null, remark: result.remark }
    : { accepted: false, problem: result.problem, remark: null };
}
