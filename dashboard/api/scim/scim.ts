import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import * as z from "zod";
import { GatewayError } from "../../../contract/errors.ts";
import { listUsers, findUser, type ProvisionedUser } from "../../../ledger/provisioning/users.ts";
import { callerOf, type Caller } from "../caller.ts";
import type { AppDeps } from "../../app-deps.ts";
import { serviceProviderConfig, userSchemaResource, userType } from "./discovery.ts";
import { answerScimError, SCIM_TYPE } from "./failure.ts";
import { readPatch } from "./patch.ts";
import { readQuery } from "./query.ts";
import { select } from "./selection.ts";
import { createUserActions, replacing } from "./user-actions.ts";
import { readUser, showUser, USER_SCHEMA } from "./user-resource.ts";

const LIST_SCHEMA = "urn:ietf:params:scim:api:messages:2.0:ListResponse";
const schema = { hide: true };
const paramsSchema = z.object({ id: z.string().max(200) });

/**
 * SCIM 2.0 (RFC 7643 and 7644) below the management API, for identity providers that create and remove an account's members
 * (docs/scim.md). Callers and their rate are checked as everywhere in the API.
 */
export async function serveScim(api: FastifyInstance, deps: AppDeps): Promise<void> {
  const { database, log, publicBaseUrl } = deps;
  const baseUrl = `${publicBaseUrl}${api.prefix}`;
  const users = createUserActions(deps);
  const parseJson = api.getDefaultJsonParser("error", "error");
  // Providers send the type with every request: an empty body counts as no body.
  api.addContentTypeParser("application/scim+json", { parseAs: "string" }, (request, body, done) => {
    if (body === "") done(null, undefined);
    else void parseJson(request, String(body), done);
  });
  api.setErrorHandler((error, request, reply) => answerScimError({ error, request, reply, log }));
  api.setNotFoundHandler((request) => {
    const allow = methodsOf((request.url.split("?", 1)[0] ?? "").slice(api.prefix.length));
    if (allow === undefined)
      throw new GatewayError("not_found", "Unknown path. Users are the only resource type; see ResourceTypes.");
    throw new GatewayError("method_not_allowed", `This path supports only ${allow}.`, { headers: { allow } });
  });

  async function answerList(request: FastifyRequest, reply: FastifyReply, query: unknown): Promise<FastifyReply> {
    const { accountId } = callerOf(request, "manageMembers");
    const { filter, startIndex, count, selection } = readQuery(query);
    const { users: listed, total } = await listUsers(database, { accountId, filter, offset: startIndex - 1, limit: count });
    const resources = listed.map((user) => select(showUser(user, baseUrl), selection));
    return send(reply, list(resources, { total, startIndex }));
  }

  /** With the attributes that the address selects. */
  function answerUser(request: FastifyRequest, reply: FastifyReply, user: ProvisionedUser): FastifyReply {
    return send(reply, select(showUser(user, baseUrl), readQuery(request.query).selection));
  }

  api.get("/Users", { schema }, async (request, reply) => answerList(request, reply, request.query));
  for (const path of ["/.search", "/Users/.search"])
    api.post(path, { schema }, async (request, reply) => answerList(request, reply, request.body));

  api.post("/Users", { schema }, async (request, reply) => {
    const user = await users.create(changerOf(request), readUser(request.body));
    return answerUser(request, reply.status(201).header("location", `${baseUrl}/Users/${user.id}`), user);
  });

  api.get("/Users/:id", { schema }, async (request, reply) => {
    const { accountId } = callerOf(request, "manageMembers");
    return answerUser(request, reply, await findUser(database, { accountId, id: idOf(request.params) }));
  });

  api.put("/Users/:id", { schema }, async (request, reply) => {
    const caller = changerOf(request);
    const change = replacing(readUser(request.body));
    return answerUser(request, reply, await users.change(caller, idOf(request.params), change));
  });

  api.patch("/Users/:id", { schema }, async (request, reply) => {
    const caller = changerOf(request);
    return answerUser(request, reply, await users.change(caller, idOf(request.params), readPatch(request.body)));
  });

  api.delete("/Users/:id", { schema }, async (request, reply) => {
    await users.delete(changerOf(request), idOf(request.params));
    return reply.status(204).send();
  });

  const open = { schema, config: { isOpen: true } };
  const type = userType(baseUrl);
  const resource = userSchemaResource(baseUrl);
  const config = serviceProviderConfig(baseUrl);
  api.get("/ServiceProviderConfig", open, async (_request, reply) => send(reply, config));
  api.get("/ResourceTypes", open, async (_request, reply) => send(reply, list([type], { total: 1, startIndex: 1 })));
  api.get("/ResourceTypes/User", open, async (_request, reply) => send(reply, type));
  api.get("/Schemas", open, async (_request, reply) => send(reply, list([resource], { total: 1, startIndex: 1 })));
  api.get("/Schemas/:id", open, async (request, reply) => {
    if (idOf(request.params) !== USER_SCHEMA) throw new GatewayError("not_found", `The only schema is ${USER_SCHEMA}.`);
    return send(reply, resource);
  });
}

/** Changes send mail in the caller's name, as the page of members does. */
function changerOf(request: FastifyRequest): Caller {
  const caller = callerOf(request, "manageMembers");
  if (caller.mustProveEmail)
    throw new GatewayError("permission_denied", "Confirm your email address first: the dashboard sends you a link.");
  return caller;
}

/** Of a path that exists. */
function methodsOf(path: string): string | undefined {
  if (path === "/Users") return "GET, POST";
  if (path === "/.search" || path === "/Users/.search") return "POST";
  if (/^\/Users\/[^/]+$/.test(path)) return "GET, PUT, PATCH, DELETE";
  return /^\/(ServiceProviderConfig|ResourceTypes|ResourceTypes\/User|Schemas|Schemas\/[^/]+)$/.test(path) ? "GET" : undefined;
}

function list(resources: readonly object[], { total, startIndex }: { total: number; startIndex: number }) {
  return { schemas: [LIST_SCHEMA], totalResults: total, startIndex, itemsPerPage: resources.length, Resources: resources };
}

function send(reply: FastifyReply, body: object): FastifyReply {
  return reply.type(SCIM_TYPE).send(JSON.stringify(body));
}

function idOf(params: unknown): string {
  return paramsSchema.parse(params).id;
}
