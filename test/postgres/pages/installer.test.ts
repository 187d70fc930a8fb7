import { expect, test } from "vitest";
import { publishModels } from "../../../ledger/models/catalogue.ts";
import { catalogueModel, PRICE } from "../../support/billing/ledger.ts";
import { usePostgres } from "../../support/billing/postgres.ts";
import { openDashboard } from "../../support/dashboard/dashboard.ts";

const postgres = usePostgres();

test.for(["/install.sh", "/install.ps1", "/install.md", "/llms.txt"])(
  "%s, which strangers may read, contains nothing of a model's servers",
  async (path) => {
    const { database } = await postgres.migrated();
    const model = catalogueModel("acme-gpt", { interfaces: ["chat"] });
    const backends = model.backends.map((backend) => ({
      ...backend,
      name: "rented-in-oslo",
      cluster: "model/acme-gpt/rented-in-oslo",
      upstreamModel: "other-company/small-7b",
    }));
    await publishModels(database, [{ model: { ...model, backends }, price: PRICE }]);
    const { guest } = await openDashboard(database);
    const { statusCode, body } = await guest.get(path);
    expect(statusCode).toBe(200);
    for (const inside of ["rented-in-oslo", "small-7b", "backends"]) expect.soft(body).not.toContain(inside);
  },
);
