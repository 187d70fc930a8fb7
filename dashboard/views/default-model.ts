import { isInputOnly, type CatalogueModel } from "../../contract/catalogue.ts";
import type { ListedModel } from "../../ledger/models/model-list.ts";

/** The preferred default (S7), if it is served. */
const RECOMMENDED = "modelx-v4-pro";

/**
 * The model to suggest: the recommended one, otherwise a current one with as many interfaces as possible, otherwise any; one
 * that converses before one that does not.
 */
export function defaultModel(models: readonly ListedModel[], nowMs = Date.now()): ListedModel | undefined {
  const rank = ({ model }: ListedModel): number =>
    (model.name === RECOMMENDED ? 200 : 0) +
    (isInputOnly(model) ? 0 : 100) +
    (isLegacy(model, nowMs) ? 0 : 10) +
    model.interfaces.length;
  return models.toSorted((one, other) => rank(other) - rank(one))[0];
}

/** Whether its administrator has announced its removal. */
export function isLegacy({ deprecation }: Pick<CatalogueModel, "deprecation">, nowMs = Date.now()): boolean {
  return deprecation !== undefined && (deprecation.sinceSeconds ?? 0) * 1000 <= nowMs;
}
