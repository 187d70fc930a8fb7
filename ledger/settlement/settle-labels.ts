import { END_USER, LABEL_BOUNDS } from "../../contract/labels.ts";
import { SUMMED_COLUMNS } from "../usage/sums.ts";
import type { Settlement } from "./settlement.ts";

/** Columns of the labels of a batch, one row for each label; undefined if no request has one. */
export function labelColumns(settlements: readonly Settlement[]): unknown[][] | undefined {
  const labelled = settlements.filter(({ labels = [] }) => labels.length > 0);
  if (labelled.length === 0) return undefined;
  const rows = labelled.flatMap(({ requestId, attempt, labels = [] }) =>
    labels.map(({ dimension, value }) => ({ requestId, attempt, dimension, value })),
  );
  return [
    rows.map(({ requestId }) => requestId),
    rows.map(({ attempt }) => attempt),
    rows.map(({ dimension }) => dimension),
    rows.map(({ value }) => value),
  ];
}

/**
 * The part of the settling statement that stores the labels of new rows (`fresh`). It also decides which values reports
 * distinguish: the account's balance is locked, so no other batch of the account decides at the same time.
 * @param position of the first column's parameter.
 */
export function landLabels(position: number): string {
  const types = ["uuid", "smallint", "text", "text"];
  const parameters = types.map((type, index) => `$${position + index}::${type}[]`).join(", ");
  return `, sent AS (
    SELECT DISTINCT ON (request_id, attempt, dimension) request_id, attempt, dimension COLLATE "C" AS dimension, value COLLATE "C" AS value
    FROM unnest(${parameters}) AS sent (request_id, attempt, dimension, value)
  ), label AS (
    -- An account that has turned labels off in the meantime keeps none.
    SELECT fresh.*, dimension, value FROM sent JOIN fresh USING (request_id, attempt) JOIN account ON account.id = account_id
    WHERE account.labels = 'kept'
  ), labelled AS (
    INSERT INTO usage_label (day, account_id, request_id, attempt, dimension, value)
    SELECT day, account_id, request_id, attempt, dimension, value FROM label ON CONFLICT DO NOTHING
  ), wanted AS (
    SELECT DISTINCT account_id, day, dimension, value FROM label
  ), unseen AS (
    SELECT *, row_number() OVER (PARTITION BY account_id, day, dimension = '${END_USER}' ORDER BY dimension, value) AS place
    FROM wanted WHERE NOT EXISTS (SELECT FROM label_value AS known WHERE (known.account_id, known.day, known.dimension, known.value)
      = (wanted.account_id, wanted.day, wanted.dimension, wanted.value))
  ), taken AS (
    SELECT account_id, day, is_user, (
      SELECT count(*) FROM label_value AS known WHERE known.account_id = each.account_id AND known.day = each.day
        AND (known.dimension = '${END_USER}') = is_user
    ) AS values
    FROM (SELECT DISTINCT account_id, day, dimension = '${END_USER}' AS is_user FROM unseen) AS each
  ), learned AS (
    INSERT INTO label_value (account_id, day, dimension, value)
    SELECT account_id, day, dimension, value FROM unseen JOIN taken USING (account_id, day)
    WHERE is_user = (dimension = '${END_USER}') AND values + place <= ${LABEL_BOUNDS.valuesADay}
    ON CONFLICT DO NOTHING
    RETURNING account_id, day, dimension, value
  ), distinguished AS (
    SELECT account_id, day, dimension, value FROM wanted EXCEPT SELECT account_id, day, dimension, value FROM unseen
    UNION SELECT account_id, day, dimension, value FROM learned
  ), shown AS (
    SELECT label.account_id, label.day, label.key_id, label.model, ${SUMMED_COLUMNS.slice(1)
      .map((name) => `label.${name}`)
      .join(", ")},
      coalesce(distinguished.value, '') AS value,
      CASE WHEN distinguished.value IS NOT NULL OR label.dimension = '${END_USER}'
          OR EXISTS (SELECT FROM label_value AS known WHERE (known.account_id, known.day, known.dimension) = (label.account_id, label.day, label.dimension))
          OR EXISTS (SELECT FROM learned WHERE (learned.account_id, learned.day, learned.dimension) = (label.account_id, label.day, label.dimension))
        THEN label.dimension ELSE 'tag:' END AS dimension
    FROM label LEFT JOIN distinguished USING (account_id, day, dimension, value)
  ), rolled_labels AS (
    ${rollUp("usage_by_label", ["account_id", "dimension", "day", "value"])}
  ), rolled_keys AS (
    ${rollUp("usage_by_label_and_key", ["account_id", "dimension", "value", "day", "key_id", "model"])}
  )`;
}

function rollUp(table: string, key: readonly string[]): string {
  const columns = key.join(", ");
  const sums = SUMMED_COLUMNS.map((name) => (name === "requests" ? "count(*)" : `sum(${name})`));
  return `INSERT INTO ${table} AS rolled (${columns}, ${SUMMED_COLUMNS.join(", ")})
    SELECT ${columns}, ${sums.join(", ")} FROM shown GROUP BY ${columns} ORDER BY ${columns}
    ON CONFLICT (${columns}) DO UPDATE SET
      ${SUMMED_COLUMNS.map((name) => `${name} = rolled.${name} + excluded.${name}`).join(", ")}`;
}
