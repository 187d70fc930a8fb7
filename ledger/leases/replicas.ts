import * as z from "zod";
import type { Queryable } from "../postgres/database.ts";
import { seenWithin } from "./seen-within.ts";

const standingSchema = z.strictObject({
  /** Of the Models' configuration; equal content has an equal version. */
  version: z.string(),
  /** Envoys connected to the replica. */
  envoys: z.int(),
  /** Node ids of those that have not acknowledged it in time. */
  late: z.array(z.string()),
  /** Clusters rejected by one of them, each with its error. */
  rejected: z.record(z.string(), z.string()),
  /** Error of one that rejected the whole; null for none. */
  refusal: z.string().nullable(),
});

/** Progress of the Envoys of one replica of the operator. */
export type ReplicaStanding = z.infer<typeof standingSchema>;

/** A replica writes about every 4 s. */
const IS_THERE = seenWithin("15 seconds");

/** Reports the progress of this replica's Envoys, and that the replica exists. */
export async function reportReplica(database: Queryable, replica: string, standing: ReplicaStanding): Promise<void> {
  await database.execute(
    `INSERT INTO operator_replica VALUES ($1, $2, clock_timestamp())
     ON CONFLICT (replica) DO UPDATE SET standing = excluded.standing, seen_at = excluded.seen_at`,
    [replica, JSON.stringify(standing)],
  );
  await database.execute("DELETE FROM operator_replica WHERE seen_at < now() - interval '1 hour'");
}

/** The other live replicas, and the progress of their Envoys. */
export async function readOtherReplicas(
  database: Queryable,
  replica: string,
): Promise<{ replica: string; standing: ReplicaStanding }[]> {
  return database.query({
    text: `SELECT replica, standing FROM operator_replica
           WHERE replica <> $1 AND ${IS_THERE} ORDER BY replica`,
    values: [replica],
    row: z.strictObject({ replica: z.string(), standing: standingSchema }),
  });
}

/** Others no longer wait for this replica. */
export async function removeReplica(database: Queryable, replica: string): Promise<void> {
  await database.execute("DELETE FROM operator_replica WHERE replica = $1", [replica]);
}
