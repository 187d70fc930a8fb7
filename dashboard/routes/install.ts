import type { FastifyInstance } from "fastify";
import { checkedUrl, renderShellInstaller, type InstallerModel } from "../../clients/installer.ts";
import { listModels, type ListedModel } from "../../ledger/model-list.ts";
import type { AppDeps } from "../app.ts";

/** The installer and its instruction (S31, S32): the same for everybody, so nobody has to sign in. */
export function installRoutes(app: FastifyInstance, { database, publicBaseUrl }: AppDeps): void {
  // A wrong address is said when the process starts, not to the first visitor.
  const baseUrl = checkedUrl(publicBaseUrl);
  const input = async () => ({ baseUrl, models: (await listModels(database, Date.now())).map(toInstallerModel) });

  app.get("/install.sh", async (_request, reply) => {
    return reply.type("text/plain; charset=utf-8").send(renderShellInstaller(await input()));
  });
}

function toInstallerModel({ model, price }: ListedModel): InstallerModel {
  const { name, interfaces, contextWindow, maxOutputTokens } = model;
  return { name, interfaces, contextWindow, maxOutputTokens, outputPrice: price.outputPicoUsd };
}
