import type { FastifyInstance } from "fastify";
import { GatewayError } from "../../contract/errors.ts";
import { checkedUrl, renderPowerShellInstaller, renderShellInstaller } from "../../clients/installer.ts";
import { instructionMarkdown, llmsText } from "../../clients/instruction.ts";
import { offer, type OfferedModel } from "../../clients/models.ts";
import { TOOLS } from "../../clients/table.ts";
import { listModels } from "../../ledger/models/model-list.ts";
import type { AppDeps } from "../app-deps.ts";
import { sendPage } from "../http/reply.ts";
import { clientPage, clientsPage } from "../views/clients.ts";

/** The installer, its instruction and the tools' pages (S31, S32): the same for everybody, without signing in. */
export function installRoutes(app: FastifyInstance, { database, publicBaseUrl }: AppDeps): void {
  // An invalid address is reported when the process starts, not to the first visitor.
  const baseUrl = checkedUrl(publicBaseUrl);

  async function offered(): Promise<OfferedModel[]> {
    const listed = await listModels(database, Date.now());
    return offer(listed.map(({ model, price }) => ({ ...model, outputPrice: price.outputPicoUsd })));
  }

  const files = {
    "/install.sh": { type: "text/plain", render: renderShellInstaller },
    "/install.ps1": { type: "text/plain", render: renderPowerShellInstaller },
    "/install.md": { type: "text/markdown", render: instructionMarkdown },
    "/llms.txt": { type: "text/plain", render: llmsText },
  };
  for (const [path, { type, render }] of Object.entries(files)) {
    app.get(path, async (_request, reply) => {
      const text = render({ baseUrl, models: await offered() });
      return reply.type(`${type}; charset=utf-8`).send(text);
    });
  }

  app.get("/dashboard/clients", (request, reply) => sendPage(reply, clientsPage({ visitor: request.visitor, baseUrl })));

  app.get<{ Params: { tool: string } }>("/dashboard/clients/:tool", async (request, reply) => {
    const tool = TOOLS.find(({ id }) => id === request.params.tool);
    if (tool === undefined) throw new GatewayError("not_found", "There are no instructions for a tool of this name.");
    return sendPage(reply, clientPage({ visitor: request.visitor, tool, input: { baseUrl, models: await offered() } }));
  });
}
