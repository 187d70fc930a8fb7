import { isDeepStrictEqual } from "node:util";
import { HOUR_MS } from "../../contract/days.ts";
import { GatewayError } from "../../contract/errors.ts";
import { ACCESS_NAMES, type KeyAccess } from "../../contract/key-access.ts";
import { checkModelNames } from "../../ledger/keys/key-bounds.ts";
import { findKey, type ListedKey } from "../../ledger/keys/key-list.ts";
import { changeKey, disableKeys, type KeyChange, type KeySettings } from "../../ledger/keys/key-settings.ts";
import { createApiKey, isPublicId, revokeApiKey, rotateApiKey } from "../../ledger/keys/keys.ts";
import { noteKeyAction } from "../../ledger/keys/note-key-action.ts";
import { setKeyLimits } from "../../ledger/leases/limits.ts";
import type { ActionName } from "../../ledger/people/action-names.ts";
import { lockForChange } from "../../ledger/people/actor.ts";
import { admitChange } from "../../ledger/people/audit.ts";
import type { Permission } from "../../ledger/people/permissions.ts";
import { checkFirstKey } from "../../ledger/people/email-proof.ts";
import type { Database, Queryable } from "../../ledger/postgres/database.ts";
import { queueKeyEvent } from "../../ledger/webhooks/key-events.ts";
import { assignProject } from "../../ledger/projects/project-keys.ts";

/** The actor in an account's keys: a person on a page, or a program with a management token. */
export interface KeyActor {
  accountId: string;
  /** null if a token acts. */
  personId: string | null;
  /** null if a person acts. */
  tokenId: string | null;
  mustProveEmail: boolean;
}

/** Settings of a new key; without a project, it is in none, and without days, nothing is recorded. */
export type NewKeySettings = Omit<KeySettings, "isDisabled" | "projectId" | "promptLogDays"> & {
  projectId?: string | null | undefined;
  promptLogDays?: number | null | undefined;
};

interface KeyWithValue {
  key: ListedKey;
  /** The full value, which is stored nowhere. */
  value: string;
}

/**
 * Changes to keys, for pages and the management API. Each is one transaction with its audit entry: both are stored, or neither.
 * Disabling and deleting always work; everything else counts against the account's changes per day.
 */
export interface KeyActions {
  /** @throws GatewayError `not_found` for a key of another account too, so that its existence is not revealed. */
  find(actor: KeyActor, publicId: string): Promise<ListedKey>;
  create(actor: KeyActor, settings: NewKeySettings): Promise<KeyWithValue>;
  /** Missing or undefined members stay unchanged. */
  change(actor: KeyActor, publicId: string, change: KeyChange): Promise<ListedKey>;
  /** @returns how many were enabled before. */
  disable(actor: KeyActor, publicIds: readonly string[]): Promise<number>;
  /** @param options.overlapHours how long the previous value keeps working; 0: not at all. */
  rotate(actor: KeyActor, publicId: string, options: { overlapHours: number }): Promise<KeyWithValue>;
  /** @returns the key before the change. */
  delete(actor: KeyActor, publicId: string): Promise<ListedKey>;
}

export interface KeyActionsDeps {
  database: Database;
  pepper: Buffer;
  /** The caller's names for the fields of models and of the project, for errors. */
  modelsField: string;
  projectField: string;
}

export function createKeyActions({ database, pepper, modelsField, projectField }: KeyActionsDeps): KeyActions {
  async function find({ accountId }: KeyActor, publicId: string, queryable: Queryable = database): Promise<ListedKey> {
    // Anything else may contain a NUL, which Postgres rejects.
    const key = isPublicId(publicId) ? await findKey(queryable, { accountId, publicId }) : undefined;
    if (key === undefined) throw new GatewayError("not_found", "This account has no such key.", { field: "id" });
    return key;
  }

  async function note(
    transaction: Queryable,
    actor: KeyActor,
    action: ActionName & `key.${string}`,
    publicId: string,
  ): Promise<void> {
    await noteKeyAction(transaction, { ...actor, action, publicId });
  }

  return {
    find: (actor, publicId) => find(actor, publicId),
    create: (actor, { name, allowedModels, expiresAt, limits, projectId = null, promptLogDays = null, ...access }) =>
      database.transaction(async (transaction) => {
        const { accountId } = actor;
        await checkModelNames(transaction, allowedModels, modelsField);
        await admitChange(transaction, "key", actor, permissionFor(promptLogDays ?? undefined));
        if (actor.mustProveEmail) await checkFirstKey(transaction, accountId);
        const { publicId, value } = await createApiKey(transaction, {
          accountId,
          name,
          pepper,
          expiresAt,
          allowedModels,
          access,
          promptLogDays,
        });
        await setKeyLimits(transaction, publicId, limits);
        await assignProject(transaction, { accountId, publicId, projectId, field: projectField });
        await note(transaction, actor, "key.created", publicId);
        if (promptLogDays !== null) await note(transaction, actor, "key.prompt_log_on", publicId);
        return { key: await find(actor, publicId, transaction), value };
      }),
    change: (actor, publicId, change) =>
      database.transaction(async (transaction) => {
        const { accountId } = actor;
        const before = await find(actor, publicId, transaction);
        const onlySwitch = switchIn(change);
        await checkModelNames(transaction, change.allowedModels ?? null, modelsField);
        const isStop = onlySwitch === "disabled" && before.status !== "disabled";
        await admitChange(transaction, isStop ? null : "key", actor, permissionFor(change.promptLogDays));
        const { projectId, ...settings } = change;
        if (
          projectId !== undefined &&
          (await assignProject(transaction, { accountId, publicId, projectId, field: projectField }))
        )
          await note(transaction, actor, "key.moved", publicId);
        if (Object.values(settings).some((value) => value !== undefined)) {
          await changeKey(transaction, { accountId, publicId }, settings);
          await note(transaction, actor, `key.${onlySwitch ?? "changed"}`, publicId);
          if (isAccessChanged(before, settings)) await note(transaction, actor, "key.access_changed", publicId);
          const { promptLogDays = before.promptLogDays } = settings;
          if (promptLogDays !== before.promptLogDays)
            await note(transaction, actor, promptLogDays === null ? "key.prompt_log_off" : "key.prompt_log_on", publicId);
          const { isDisabled } = settings;
          if (onlySwitch === undefined && isDisabled !== undefined && isDisabled !== (before.status === "disabled"))
            await queueKeyEvent(transaction, isDisabled ? "key.disabled" : "key.enabled", { ...actor, publicId });
        }
        return find(actor, publicId, transaction);
      }),
    disable: (actor, publicIds) =>
      database.transaction(async (transaction) => {
        await lockForChange(transaction, actor, "manageKeys");
        const ids = await disableKeys(transaction, { accountId: actor.accountId, publicIds });
        for (const id of ids) await note(transaction, actor, "key.disabled", id);
        return ids.length;
      }),
    rotate: (actor, publicId, { overlapHours }) =>
      database.transaction(async (transaction) => {
        await find(actor, publicId, transaction);
        await admitChange(transaction, "key", actor, "manageKeys");
        const previousUntil = overlapHours === 0 ? null : new Date(Date.now() + overlapHours * HOUR_MS);
        const { value } = await rotateApiKey(transaction, { publicId, pepper, previousUntil });
        await note(transaction, actor, "key.rotated", publicId);
        return { key: await find(actor, publicId, transaction), value };
      }),
    delete: (actor, publicId) =>
      database.transaction(async (transaction) => {
        const key = await find(actor, publicId, transaction);
        await lockForChange(transaction, actor, "manageKeys");
        await revokeApiKey(transaction, publicId);
        await note(transaction, actor, "key.deleted", publicId);
        return key;
      }),
  };
}

/** Owners alone decide what is recorded. */
function permissionFor(promptLogDays: number | null | undefined): Permission {
  return promptLogDays === undefined ? "manageKeys" : "managePromptLog";
}

/** Security reviews look for these. */
function isAccessChanged(before: KeyAccess, change: KeyChange): boolean {
  return ACCESS_NAMES.some((name) => change[name] !== undefined && !isDeepStrictEqual(change[name], before[name]));
}

/** Whether the change only enables or disables the key. */
function switchIn({ isDisabled, ...others }: KeyChange): "enabled" | "disabled" | undefined {
  if (isDisabled === undefined || Object.values(others).some((value) => value !== undefined)) return undefined;
  return isDisabled ? "disabled" : "enabled";
}
