import type { FastifyInstance, FastifyRequest } from "fastify";
import { findDestination, listDestinations, type TraceDestination } from "../../../ledger/traces/destinations.ts";
import type { AppDeps } from "../../app-deps.ts";
import { readForm, refuseForm, submitForm, type FormState } from "../../http/form.ts";
import { goTo, sendPage } from "../../http/reply.ts";
import { isAllowed } from "../../../ledger/people/permissions.ts";
import { hasPromptLog } from "../../prompt-log/service-switch.ts";
import { checkFresh } from "../../session/fresh.ts";
import { memberOf } from "../../session/guard.ts";
import type { Member } from "../../session/visitor.ts";
import { langfuseChangeForm, langfuseForm, otlpChangeForm, otlpForm } from "../../traces/destination-form.ts";
import { createTraceActions, type TraceActor } from "../../traces/trace-actions.ts";
import { deleteDestinationPage, destinationPage } from "../../views/traces/destination.ts";
import { destinationsPage, TRACES_PATH, type DestinationsView } from "../../views/traces/destinations.ts";

type DestinationRequest = FastifyRequest<{ Params: { id: string } }>;

/** Destinations of the account's traces, for its owners. */
export function traceDestinationRoutes(app: FastifyInstance, deps: AppDeps): void {
  const { database } = deps;
  const actions = createTraceActions(deps);
  const hasContent = hasPromptLog(deps);
  const find = ({ membership: { accountId } }: Member, id: string) => findDestination(database, { accountId, id });

  async function renderList(visitor: Member, refused?: DestinationsView["refused"]): Promise<string> {
    const { accountId, role } = visitor.membership;
    const destinations = isAllowed(role, "manageTraces") ? await listDestinations(database, accountId) : [];
    return destinationsPage({ visitor, destinations, hasContent, refused });
  }

  app.get(TRACES_PATH, async (request, reply) => sendPage(reply, await renderList(memberOf(request))));

  app.post(TRACES_PATH, async (request, reply) => {
    const visitor = memberOf(request, "manageTraces");
    checkFresh(visitor, TRACES_PATH);
    const values = readForm(request);
    const kind = values["kind"] === "langfuse" ? "langfuse" : "otlp";
    let added: TraceDestination | undefined;
    const form = await submitForm(values, async () => {
      const settings = kind === "langfuse" ? langfuseForm.parse(values) : otlpForm.parse(values);
      added = await actions.add(actorOf(visitor), settings);
    });
    if (form !== undefined) return refuseForm(reply, await renderList(visitor, { kind, form }), { form });
    return goTo(reply, `${TRACES_PATH}/${added?.id ?? ""}`, "Destination added.");
  });

  app.get(`${TRACES_PATH}/:id`, async (request: DestinationRequest, reply) => {
    const visitor = memberOf(request, "manageTraces");
    const destination = await find(visitor, request.params.id);
    return sendPage(reply, destinationPage({ visitor, destination, form: formOf(destination), hasContent }));
  });

  app.post(`${TRACES_PATH}/:id`, async (request: DestinationRequest, reply) => {
    const visitor = memberOf(request, "manageTraces");
    const destination = await find(visitor, request.params.id);
    const path = `${TRACES_PATH}/${destination.id}`;
    checkFresh(visitor, path);
    const values = readForm(request);
    const form = await submitForm(values, async () => {
      const change = destination.kind === "langfuse" ? langfuseChangeForm.parse(values) : otlpChangeForm.parse(values);
      await actions.change(actorOf(visitor), destination.id, change);
    });
    if (form !== undefined) {
      const shown = withCredentialField(form, destination);
      return refuseForm(reply, destinationPage({ visitor, destination, form: shown, hasContent }), { form });
    }
    return goTo(reply, path, "Destination saved.");
  });

  for (const [name, toast] of [
    ["disable", "Destination disabled."],
    ["enable", "Destination enabled."],
  ] as const)
    app.post(`${TRACES_PATH}/:id/${name}`, async (request: DestinationRequest, reply) => {
      const visitor = memberOf(request, "manageTraces");
      const { id } = await actions[name](actorOf(visitor), request.params.id);
      return goTo(reply, `${TRACES_PATH}/${id}`, toast);
    });

  app.post(`${TRACES_PATH}/:id/test`, async (request: DestinationRequest, reply) => {
    const visitor = memberOf(request, "manageTraces");
    const testResult = await actions.test(actorOf(visitor), request.params.id);
    const destination = await find(visitor, request.params.id);
    return sendPage(reply, destinationPage({ visitor, destination, form: formOf(destination), hasContent, testResult }));
  });

  app.get(`${TRACES_PATH}/:id/delete`, async (request: DestinationRequest, reply) => {
    const visitor = memberOf(request, "manageTraces");
    return sendPage(reply, deleteDestinationPage({ visitor, destination: await find(visitor, request.params.id) }));
  });

  app.post(`${TRACES_PATH}/:id/delete`, async (request: DestinationRequest, reply) => {
    await actions.delete(actorOf(memberOf(request, "manageTraces")), request.params.id);
    return goTo(reply, TRACES_PATH, "Destination deleted.");
  });
}

function formOf({ name, url, includesContent }: TraceDestination): FormState {
  return { values: { name, url, ...(includesContent ? { include_content: "yes" } : {}) }, problems: {} };
}

/** The ledger knows headers, whatever field they are entered in. */
function withCredentialField(form: FormState, { kind }: TraceDestination): FormState {
  const { headers, ...problems } = form.problems;
  if (headers === undefined) return form;
  return { ...form, problems: { ...problems, [kind === "otlp" ? "secret_headers" : "secret_key"]: headers } };
}

function actorOf({ membership, person }: Member): TraceActor {
  return { accountId: membership.accountId, personId: person.id, tokenId: null };
}
