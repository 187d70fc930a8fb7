import type { Interface } from "./protocol.ts";

/** What a unit of an interface is called: one, and several. The others are charged by tokens alone. */
const UNITS: Readonly<Partial<Record<string, readonly [one: string, several: string]>>> = {
  // A query with up to 100 documents, as Cohere bills it (docs/billing.md).
  rerank: ["search", "searches"],
  image_generation: ["image", "images"],
  // A Unicode code point of the text that is spoken.
  speech: ["character", "characters"],
  transcription: ["second of audio", "seconds of audio"],
} satisfies Partial<Record<Interface, readonly [string, string]>>;

/** What is known of an image, on which its price may depend; null: it may be anything. */
export interface ImageTraits {
  size: string | null;
  quality: string | null;
}

interface Used {
  /** One of `Interface`; others have no units that are known here. */
  interface: string;
  units: number;
}

/** "2 searches"; "" for an interface without units. */
export function unitsInWords({ interface: client, units }: Used): string {
  const [one, several] = UNITS[client] ?? [];
  if (one === undefined) return "";
  return `${units.toLocaleString("en-US")} ${units === 1 ? one : several}`;
}

/** As `UNITS_BY_KIND` in the ledger's sums. */
export function unitsByKind({ interface: client, units }: Used): {
  searches: number;
  images: number;
  characters: number;
  seconds: number;
} {
  return {
    searches: client === "rerank" ? units : 0,
    images: client === "image_generation" ? units : 0,
    characters: client === "speech" ? units : 0,
    seconds: client === "transcription" ? units : 0,
  };
}
