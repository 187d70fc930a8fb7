import { GatewayError } from "../../contract/errors.ts";
import { encodeJson, RawJson } from "../protocol/json/raw.ts";
import { scanElements } from "../protocol/json/scan.ts";
import { editMembers, write } from "../protocol/json/splice.ts";
import { textMember } from "../stored-responses/input.ts";

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;

interface Page {
  limit: number;
  isAscending: boolean;
  after: string | null;
}

/**
 * `GET /v1/responses/{id}/input_items`: a page of a request's `input`, the last item first.
 * @param input a list of items, as stored.
 * @throws GatewayError `invalid_request` that names the invalid query parameter.
 */
export function listInputItems(responseId: string, input: Buffer, query: URLSearchParams): Buffer {
  const page = readPage(query);
  const items = scanElements(input)
    .filter((raw) => raw.at(0) === OPEN_BRACE)
    .map((raw, index) => ({ raw, id: textMember(raw, "id") ?? generatedId(responseId, index) }));
  const ordered = page.isAscending ? items : items.toReversed();
  const start = page.after === null ? 0 : indexAfter(ordered, page.after);
  const shown = ordered.slice(start, start + page.limit);
  const body = encodeJson({
    object: "list",
    data: shown.map(({ raw, id }) => new RawJson(complete(raw, id).toString("utf8"))),
    first_id: shown[0]?.id ?? null,
    last_id: shown.at(-1)?.id ?? null,
    has_more: start + shown.length < ordered.length,
  });
  return Buffer.from(body);
}

function readPage(query: URLSearchParams): Page {
  const limit = Number(query.get("limit") ?? DEFAULT_LIMIT);
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT)
    throw invalid("limit", `must be a whole number from 1 to ${MAX_LIMIT}.`);
  const order = query.get("order") ?? "desc";
  if (order !== "asc" && order !== "desc") throw invalid("order", "must be asc or desc.");
  return { limit, isAscending: order === "asc", after: query.get("after") };
}

function indexAfter(items: readonly { id: string }[], after: string): number {
  const index = items.findIndex(({ id }) => id === after);
  if (index < 0) throw invalid("after", "must be the id of one of these items: `last_id` of the page before.");
  return index + 1;
}

/** Clients seldom give their items ids, but paging needs them. */
function generatedId(responseId: string, index: number): string {
  return `item_${responseId.replace(/^resp_/, "")}_${index}`;
}

/** In the long form, which SDKs read: with id and type, and content as a list of parts. */
function complete(item: Buffer, id: string): Buffer {
  const type = textMember(item, "type") ?? "message";
  if (type !== "message") return editMembers(item, { id: write(id) });
  const partType = textMember(item, "role") === "assistant" ? "output_text" : "input_text";
  return editMembers(item, {
    id: write(id),
    type: write(type),
    content: (content) => {
      if (content?.at(0) !== QUOTE) return content;
      const annotations = partType === "output_text" ? ',"annotations":[]' : "";
      return Buffer.concat([Buffer.from(`[{"type":"${partType}","text":`), content, Buffer.from(`${annotations}}]`)]);
    },
  });
}

const QUOTE = 34;
const OPEN_BRACE = 123;

function invalid(field: string, sentence: string): GatewayError {
  return new GatewayError("invalid_request", `\`${field}\` ${sentence}`, { field });
}
