import type { FastifyInstance, FastifyRequest } from "fastify";
import * as z from "zod";
import { GatewayError } from "../../../contract/errors.ts";
import { findBatchOfRequest } from "../../../ledger/batches/results.ts";
import { readKeyNames } from "../../../ledger/keys/key-list.ts";
import { hasRecord } from "../../../ledger/prompt-log/records.ts";
import { readAccountLabels } from "../../../ledger/labels/account-labels.ts";
import { listMembers } from "../../../ledger/people/members.ts";
import { usageByModelAndDay } from "../../../ledger/usage/reports.ts";
import type { ListedRequest } from "../../../ledger/usage/listed-request.ts";
import { listRequests, readRequest } from "../../../ledger/usage/request-list.ts";
import { readLabelsOf } from "../../../ledger/usage/request-labels.ts";
import { isRequestId } from "../../../ledger/usage/request-id-time.ts";
import type { AppDeps } from "../../app-deps.ts";
import { readQuery } from "../../http/form.ts";
import { listKeyChoices } from "../../keys/key-choices.ts";
import { goTo, sendPage } from "../../http/reply.ts";
import { listProjectChoices } from "../../projects/project-choices.ts";
import { isAllowed } from "../../../ledger/people/permissions.ts";
import { memberOf } from "../../session/guard.ts";
import { listingOf, readFilter } from "../../usage/filter.ts";
import { readRange } from "../../usage/range.ts";
import { requestPage } from "../../views/usage/request.ts";
import { requestsPage } from "../../views/usage/requests.ts";
import { dayOf, momentsOf } from "../../../contract/days.ts";

const PAGE = 50;
const afterSchema = z.object({
  /** Id and attempt of the last request on the previous page. */
  after: z
    .string()
    .regex(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\.\d{1,3}$/)
    .transform((text) => ({ requestId: text.slice(0, 36), attempt: Number(text.slice(37)) }))
    .optional()
    .catch(undefined),
});

/** All requests in a list, and each on its own page (S27). */
export function requestRoutes(app: FastifyInstance, { database, reports = database }: AppDeps): void {
  app.get("/dashboard/usage/requests", async (request, reply) => {
    const visitor = memberOf(request);
    const { accountId } = visitor.membership;
    const range = readRange(request.query, dayOf(Date.now()));
    const filter = readFilter(request.query);
    const { after } = afterSchema.parse(request.query ?? {});
    const search = readQuery(request, "search").trim().toLowerCase();
    if (search !== "" && (await findRequest(accountId, search)).length > 0)
      return goTo(reply, `/dashboard/usage/requests/${search}`);
    const listing = await listingOf(database, accountId, filter);
    const [page, keys, projects, members, used, { hasSome: hasLabels }] = await Promise.all([
      listRequests(reports, {
        accountId,
        ...momentsOf(range),
        ...listing,
        limit: PAGE,
        after,
      }),
      listKeyChoices(database, accountId, filter.key),
      listProjectChoices(database, accountId, filter.project),
      listMembers(database, accountId),
      usageByModelAndDay(reports, { accountId, ...range }),
      readAccountLabels(database, accountId),
    ]);
    const [labelledRequests, names] = await Promise.all([
      readLabelsOf(reports, accountId, page.requests),
      readKeyNames(database, { accountId, publicIds: page.requests.map(({ keyId }) => keyId) }),
    ]);
    const labelled = { ...page, requests: labelledRequests };
    const models = [...new Set(used.map(({ model }) => model))].toSorted();
    return sendPage(
      reply,
      requestsPage({
        visitor,
        range,
        page: labelled,
        hasLabels,
        names,
        keys,
        projects,
        members,
        models,
        filter,
        search,
        isFirst: after === undefined,
      }),
    );
  });

  app.get("/dashboard/usage/requests/:requestId", async (request: FastifyRequest<{ Params: { requestId: string } }>, reply) => {
    const visitor = memberOf(request);
    const { accountId } = visitor.membership;
    const { requestId } = request.params;
    const attempts = await readLabelsOf(database, accountId, await findRequest(accountId, requestId));
    if (attempts.length === 0)
      throw new GatewayError("not_found", "This account has no such request. A running request appears once it has finished.");
    const keys = await readKeyNames(database, { accountId, publicIds: attempts.map(({ keyId }) => keyId) });
    const isBatch = attempts.some((attempt) => attempt.isBatch);
    const batchId = isBatch ? await findBatchOfRequest(database, { accountId, requestId }) : undefined;
    const mayRead = isAllowed(visitor.membership.role, "managePromptLog");
    const isRecorded = mayRead && (await hasRecord(database, { accountId, requestId }));
    return sendPage(reply, requestPage({ visitor, attempts, keys, batchId, isRecorded }));
  });

  async function findRequest(accountId: string, requestId: string): Promise<ListedRequest[]> {
    return isRequestId(requestId, Date.now()) ? readRequest(database, { accountId, requestId }) : [];
  }
}
