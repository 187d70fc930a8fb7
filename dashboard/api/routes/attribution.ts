import * as z from "zod";
import { LABEL_BOUNDS } from "../../../contract/labels.ts";
import { eraseLabels, keepLabels, readAccountLabels } from "../../../ledger/labels/account-labels.ts";
import { lockForChange } from "../../../ledger/people/actor.ts";
import { admitChange, noteAction } from "../../../ledger/people/audit.ts";
import type { AppDeps } from "../../app-deps.ts";
import { callerOf } from "../caller.ts";
import type { Api } from "../provider.ts";
import { failures } from "../schemas/error.ts";

const tags = ["Account"];
const attribution = z
  .object({
    is_on: z.boolean(),
    is_deleting: z.boolean().meta({ description: "What was kept is being deleted, which takes minutes." }),
    kept_days: z.int().meta({ description: "The longest time for which tags and end users are kept" }),
  })
  .meta({ id: "Attribution" });

/** Whether requests keep their tags and end users, and how to delete them (docs/management-api.md). */
export function attributionApi(api: Api, { database }: AppDeps): void {
  async function show(accountId: string): Promise<z.infer<typeof attribution>> {
    const { keeping } = await readAccountLabels(database, accountId);
    return { is_on: keeping === "kept", is_deleting: keeping === "erasing", kept_days: LABEL_BOUNDS.keptDays };
  }

  api.get(
    "/attribution",
    {
      schema: {
        tags,
        summary: "Get whether requests keep their tags and end users",
        response: { 200: attribution, ...failures },
      },
    },
    async (request) => show(callerOf(request).accountId),
  );

  api.put(
    "/attribution",
    {
      schema: {
        tags,
        summary: "Turn tags and end users on or off",
        description: "Tags and end users that are already kept stay until they expire or are deleted. Requires the owner role.",
        body: z.strictObject({ is_on: z.boolean() }),
        response: { 200: attribution, ...failures },
      },
    },
    async (request) => {
      const caller = callerOf(request, "setLabels");
      const { accountId } = caller;
      const { is_on: isOn } = request.body;
      await database.transaction(async (transaction) => {
        await admitChange(transaction, isOn ? "settings" : null, caller, "setLabels");
        if (!(await keepLabels(transaction, { accountId, isOn }))) return;
        await noteAction(transaction, { ...caller, action: isOn ? "account.tags_on" : "account.tags_off", subject: accountId });
      });
      return show(accountId);
    },
  );

  api.delete(
    "/attribution",
    {
      schema: {
        tags,
        summary: "Turn tags and end users off, and delete all that were kept",
        description: "Usage and charges stay, without them. Requires the owner role.",
        response: { 200: attribution, ...failures },
      },
    },
    async (request) => {
      const caller = callerOf(request, "setLabels");
      const { accountId } = caller;
      await database.transaction(async (transaction) => {
        await lockForChange(transaction, caller, "setLabels");
        if (!(await eraseLabels(transaction, accountId))) return;
        await noteAction(transaction, { ...caller, action: "account.tags_deleted", subject: accountId });
      });
      return show(accountId);
    },
  );
}
