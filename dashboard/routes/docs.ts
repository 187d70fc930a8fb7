import { readFileSync } from "node:fs";
import path from "node:path";
import type { FastifyInstance } from "fastify";
import { html } from "ghtml";
import * as z from "zod";
import { listModels } from "../../ledger/models/model-list.ts";
import type { AppDeps } from "../app-deps.ts";
import { readReference } from "../reference/document.ts";
import { sendPage } from "../http/reply.ts";
import { defaultModel } from "../views/default-model.ts";
import { DOCS, quickstartPage } from "../views/docs/docs.ts";
import { inlineCode } from "../views/docs/inline-code.ts";
import { operationsHtml, referencePage } from "../views/docs/reference.ts";
import { LANGUAGES } from "../views/first-requests.ts";

const query = z.object({ language: z.enum(LANGUAGES).catch("curl") });
const SOURCE = `${DOCS}/openapi.yaml`;
/** Our own file repeats what operations share by aliases, of which the parser allows 100 unless told otherwise. */
const MAX_ALIASES = 1_000;

/** Public documentation in the product. */
export function docsRoutes(app: FastifyInstance, { database, publicBaseUrl: baseUrl }: AppDeps): void {
  const readSource = () => readFileSync(path.join(import.meta.dirname, "../../docs/openapi.yaml"), "utf8");
  let ofClients: string | undefined;
  let ofManagement: { description: string; operations: string } | undefined;

  app.get(DOCS, async (request, reply) => {
    const { language } = query.parse(request.query ?? {});
    const model = defaultModel(await listModels(database, Date.now()))?.model ?? null;
    return sendPage(reply, quickstartPage({ visitor: request.visitor, baseUrl, model, language }));
  });

  app.get(`${DOCS}/api`, async (request, reply) => {
    const { parse } = await import("yaml");
    ofClients ??= operationsHtml(readReference(parse(readSource(), { maxAliasCount: MAX_ALIASES })));
    return sendPage(
      reply,
      referencePage({
        visitor: request.visitor,
        title: "API reference",
        path: `${DOCS}/api`,
        operations: ofClients,
        lead: html`<p>
          Base URL: <code>${baseUrl}</code>. Send an <a href="/dashboard/keys">API key</a> as
          <code>authorization: Bearer sk-mg-…</code> or as <code>x-api-key</code>. Requests and responses have the formats of
          OpenAI and Anthropic; listed here is what the gateway itself requires or adds.
        </p>`,
        source: SOURCE,
      }),
    );
  });

  app.get(SOURCE, (_request, reply) => reply.type("application/yaml; charset=utf-8").send(readSource()));

  app.get(`${DOCS}/management-api`, async (request, reply) => {
    // The routes describe themselves once all of them exist.
    ofManagement ??= readManagement((await app.inject({ method: "GET", url: "/api/v1/openapi.json" })).json());
    return sendPage(
      reply,
      referencePage({
        visitor: request.visitor,
        title: "Management API",
        path: `${DOCS}/management-api`,
        operations: ofManagement.operations,
        lead: html`<p>
          Base URL: <code>${baseUrl}/api/v1</code>. Send a <a href="/dashboard/tokens">management token</a> as
          <code>authorization: Bearer mgmt_…</code>. !${inlineCode(ofManagement.description)}
        </p>`,
        source: "/api/v1/openapi.json",
      }),
    );
  });
}

function readManagement(document: unknown): { description: string; operations: string } {
  const reference = readReference(document);
  return { description: reference.description ?? "", operations: operationsHtml(reference) };
}
