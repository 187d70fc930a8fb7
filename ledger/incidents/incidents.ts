import { v7 as uuidv7 } from "uuid";
import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";
import type { Queryable } from "../postgres/database.ts";
import { knownOrOther, type OrOther } from "../postgres/known-or-other.ts";

export const IMPACTS = ["minor", "major", "maintenance"] as const;
export const INCIDENT_STATUSES = ["investigating", "identified", "monitoring", "resolved", "scheduled"] as const;
type Impact = (typeof IMPACTS)[number];
export type IncidentStatus = (typeof INCIDENT_STATUSES)[number];

/** An outage or maintenance, as shown to customers. */
export interface Incident {
  /** UUIDv7: contains the time of publication. */
  id: string;
  title: string;
  impact: OrOther<Impact>;
  /** null: it is ongoing. */
  resolvedAt: Date | null;
  /** The newest first, at most MAX_UPDATES. */
  updates: readonly IncidentUpdate[];
}

interface IncidentUpdate {
  /** UUIDv7. */
  id: string;
  status: OrOther<IncidentStatus>;
  message: string;
}

export interface NewUpdate {
  status: IncidentStatus;
  message: string;
  /** Its author. */
  personId: string;
}

/** Of one incident: it stays readable, and the page bounded. */
const MAX_UPDATES = 50;
/** Nobody reads more at once. */
const MAX_OPEN = 20;

const incidentRow = z.strictObject({
  id: z.string(),
  title: z.string(),
  impact: knownOrOther(IMPACTS),
  resolvedAt: z.date().nullable(),
  updates: z.array(z.strictObject({ id: z.string(), status: knownOrOther(INCIDENT_STATUSES), message: z.string() })),
});

const SELECT = `SELECT id, title, impact, resolved_at AS "resolvedAt",
    (SELECT coalesce(jsonb_agg(jsonb_build_object('id', id, 'status', status, 'message', message) ORDER BY id DESC), '[]') FROM (
       SELECT id, status, message FROM incident_update WHERE incident_id = incident.id ORDER BY id DESC LIMIT ${MAX_UPDATES}
     ) AS latest) AS updates
  FROM incident`;

/** The ongoing ones, newest first. */
export async function listOpenIncidents(database: Queryable): Promise<Incident[]> {
  return database.query({
    text: `${SELECT} WHERE resolved_at IS NULL ORDER BY id DESC LIMIT ${MAX_OPEN}`,
    row: incidentRow,
  });
}

/**
 * All, or the resolved ones, newest first.
 * @param beforeId continues after the incident of this id.
 */
export async function listIncidents(
  database: Queryable,
  { limit, beforeId, isOver = false }: { limit: number; beforeId?: string | undefined; isOver?: boolean },
): Promise<Incident[]> {
  return database.query({
    text: `${SELECT} WHERE ($1::uuid IS NULL OR id < $1) AND (NOT $2 OR resolved_at IS NOT NULL) ORDER BY id DESC LIMIT $3`,
    values: [beforeId ?? null, isOver, limit],
    row: incidentRow,
  });
}

/** @throws GatewayError `not_found`. */
export async function readIncident(database: Queryable, id: string): Promise<Incident> {
  const [incident] = z.uuid().safeParse(id).success
    ? await database.query({ text: `${SELECT} WHERE id = $1`, values: [id], row: incidentRow })
    : [];
  if (incident === undefined) throw new GatewayError("not_found", "There is no such incident.");
  return incident;
}

/** @returns its id. */
export async function openIncident(
  transaction: Queryable,
  { title, impact, ...update }: { title: string; impact: Impact } & NewUpdate,
): Promise<string> {
  const id = uuidv7();
  await transaction.execute("INSERT INTO incident (id, title, impact) VALUES ($1, $2, $3)", [id, title, impact]);
  await updateIncident(transaction, id, update);
  return id;
}

/**
 * Adds an update to an incident. "resolved" ends it, anything else reopens it.
 * @throws GatewayError `not_found`; `invalid_request` after too many updates.
 */
export async function updateIncident(
  transaction: Queryable,
  id: string,
  { status, message, personId }: NewUpdate,
): Promise<void> {
  const found = await transaction.execute(
    "UPDATE incident SET resolved_at = CASE WHEN $2 = 'resolved' THEN coalesce(resolved_at, now()) END WHERE id = $1",
    [id, status],
  );
  if (found === 0) throw new GatewayError("not_found", "There is no such incident.");
  // However many there are, an incident can be ended.
  const most = status === "resolved" ? MAX_UPDATES + 1 : MAX_UPDATES;
  const written = await transaction.execute(
    `INSERT INTO incident_update (id, incident_id, status, message, person_id)
     SELECT $1, $2, $3, $4, $5 WHERE (SELECT count(*) FROM incident_update WHERE incident_id = $2) < $6`,
    [uuidv7(), id, status, message, personId, most],
  );
  if (written === 0)
    throw new GatewayError(
      "invalid_request",
      `An incident can have at most ${MAX_UPDATES} updates. Resolve it, and open another one.`,
      {
        field: "message",
      },
    );
}
