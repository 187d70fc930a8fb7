import type { Interface } from "./protocol.ts";

/** Bounds of one batch; those of an account are in account-bounds.ts. */
export const BATCH_BOUNDS = {
  requests: 50_000,
  /** Of all requests of a batch together, as a file or as a list. */
  mebibytes: 100,
  /** Of one request. */
  requestMebibytes: 8,
  /** JSON values of one request, counted by commas and opening brackets: parsing takes time and memory by these, not by bytes. */
  requestParts: 400_000,
  /** Those that have a name, which takes ten times as long to read as a number. */
  requestMembers: 100_000,
  /** Of a file; some are empty. */
  lines: 100_000,
  /** Of one answer: a longer one is an error, and charged. */
  answerMebibytes: 16,
  customIdCharacters: 256,
  /** Mistakes of a file that are listed. */
  errors: 100,
  /** In which the requests are sent. */
  windowHours: 24,
  /** Files after their upload, and batches with their results after their end. */
  keptDays: 30,
  /** The shortest time that a client may ask for instead. */
  minKeptSeconds: 3_600,
} as const;

/** Interfaces whose requests may come in batches. */
export const BATCH_INTERFACES = ["chat", "responses", "embeddings", "messages"] as const satisfies readonly Interface[];
export type BatchInterface = (typeof BATCH_INTERFACES)[number];
