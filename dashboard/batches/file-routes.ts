import { Readable } from "node:stream";
import { create as contentDisposition } from "content-disposition";
import type { FastifyInstance, FastifyRequest } from "fastify";
import * as z from "zod";
import { BATCH_BOUNDS } from "../../contract/batches.ts";
import { GatewayError } from "../../contract/errors.ts";
import {
  beginUpload,
  deleteFile,
  findFile,
  listFiles,
  noSuchFile,
  readFileParts,
  resultFileOf,
  type BatchFile,
  type Upload,
} from "../../ledger/batches/files.ts";
import { readResults } from "../../ledger/batches/results.ts";
import { readBody, tooLarge } from "./body-stream.ts";
import { batchCallerOf } from "./caller.ts";
import { checkBatchCredit } from "./credit.ts";
import type { BatchDeps } from "./deps.ts";
import { boundaryOf, readFormStream, type PartHeader, type PartSink } from "./form-stream.ts";
import { expiresAfter, expiresAfterOf, isExpiresAfter } from "./expires-after.ts";
import { oneText, pageSize, readJson, readQuery } from "./query.ts";
import { describeFile } from "./shapes.ts";
import type { UploadTurn } from "./uploads.ts";
import { wholeBody } from "./whole-body.ts";

const MEBIBYTE = 1024 * 1024;
const MAX_FILE_BYTES = BATCH_BOUNDS.mebibytes * MEBIBYTE;
/** Boundaries, and fields that are no file. */
const MAX_FORM_BYTES = MAX_FILE_BYTES + 64 * 1024;
const MAX_FIELD_BYTES = 1_024;
const MAX_NAME_CHARACTERS = 256;
const KEPT_SECONDS = BATCH_BOUNDS.keptDays * 86_400;
const WHAT = "A file";

type FileRequest = FastifyRequest<{ Params: { id: string } }>;

/** OpenAI's files, for batches. */
export function fileRoutes(scope: FastifyInstance, deps: BatchDeps): void {
  const { database, content } = deps;
  void scope.register(async (forms) => {
    forms.addContentTypeParser("multipart/form-data", (_request, payload, done) => done(null, payload));
    forms.post("/files", { config: { isUpload: true } }, async (request) => {
      const { accountId } = batchCallerOf(request);
      await checkBatchCredit(deps, accountId);
      const turn = await deps.uploads.take(accountId);
      try {
        return describeFile(await receiveFile(deps, request, turn));
      } finally {
        turn.end();
      }
    });
  });

  scope.get("/files", async (request) => {
    const { purpose, order, after, limit } = readQuery(request.query, listQuery);
    const { accountId } = batchCallerOf(request);
    const isKnown = purpose === undefined || purpose === "batch" || purpose === "batch_output";
    const files = isKnown ? await listFiles(database, accountId, { purpose, order, afterId: after, limit: limit + 1 }) : [];
    const page = files.slice(0, limit).map(describeFile);
    const [first_id = null, last_id = null] = [page.at(0)?.id, page.at(-1)?.id];
    return { object: "list", data: page, first_id, last_id, has_more: files.length > limit };
  });

  scope.get("/files/:id", async (request: FileRequest) => describeFile(await fileOf(deps, request)));

  scope.get("/files/:id/content", { config: { isDownload: true } }, async (request: FileRequest, reply) => {
    const { id, name, bytes } = await fileOf(deps, request);
    const results = resultFileOf(id);
    const pieces = results === undefined ? readFileParts(database, id, content) : readResults(database, { ...results, content });
    return reply
      .type("application/octet-stream")
      .header("content-length", bytes)
      .header("content-disposition", contentDisposition(name))
      .send(wholeBody(pieces, bytes));
  });

  scope.delete("/files/:id", async (request: FileRequest) => {
    const { id } = request.params;
    await deleteFile(database, batchCallerOf(request).accountId, id);
    return { id, object: "file", deleted: true };
  });
}

const listQuery = z.object({
  purpose: oneText,
  order: z.enum(["asc", "desc"], "must be asc or desc").default("desc"),
  after: oneText,
  limit: pageSize({ max: 10_000, standard: 10_000 }),
});

async function fileOf({ database }: BatchDeps, request: FileRequest): Promise<BatchFile> {
  const file = await findFile(database, batchCallerOf(request).accountId, request.params.id);
  if (file === undefined) throw noSuchFile();
  return file;
}

/** @throws GatewayError if it is no file for batches, or there is no room for it; nothing of it stays then. */
async function receiveFile(deps: BatchDeps, request: FastifyRequest, turn: UploadTurn): Promise<BatchFile> {
  const { database, content, room } = deps;
  const { accountId } = batchCallerOf(request);
  const declared = Number(request.headers["content-length"] ?? MAX_FILE_BYTES);
  if (declared > MAX_FORM_BYTES) throw tooLarge(MAX_FILE_BYTES, WHAT);
  const boundary = boundaryOf(request.headers["content-type"]);
  if (!(request.body instanceof Readable)) throw new Error("The body of an upload is a stream.");
  const bytes = Math.min(declared, MAX_FILE_BYTES);
  const upload = await beginUpload(database, { accountId, bytes, room, content });
  try {
    const form = createFileForm(upload);
    const pieces = readBody(request.body, { maxBytes: MAX_FORM_BYTES, what: WHAT, turn });
    await readFormStream(pieces, { boundary, onPart: form.onPart });
    const file = form.end();
    await deps.checkCallerAgain(request);
    return await upload.complete(file);
  } catch (error) {
    await upload.abandon();
    throw error;
  }
}

const expiry = z.object({ expires_after: expiresAfter.optional() });

interface FileForm {
  onPart(header: PartHeader): PartSink;
  /** @throws GatewayError unless the fields are those of a file for batches. */
  end(): { name: string; keptSeconds: number };
}

function createFileForm(upload: Upload): FileForm {
  const fields = new Map<string, string>();
  let fileName: string | undefined;

  function fileSink(): PartSink {
    let pieces: Buffer[] = [];
    let bytes = 0;
    let all = 0;
    async function flush(): Promise<void> {
      const part = Buffer.concat(pieces);
      pieces = [];
      bytes = 0;
      if (part.length > 0) await upload.add(part);
    }
    return {
      async write(piece) {
        all += piece.length;
        if (all > MAX_FILE_BYTES) throw tooLarge(MAX_FILE_BYTES, WHAT);
        pieces.push(piece);
        bytes += piece.length;
        if (bytes >= MEBIBYTE) await flush();
      },
      end: flush,
    };
  }

  function fieldSink(name: string): PartSink {
    let text = "";
    return {
      write(piece) {
        text += piece.toString("utf8");
        if (text.length > MAX_FIELD_BYTES) throw new GatewayError("invalid_request", `The form field \`${name}\` is too long.`);
      },
      end: () => void fields.set(name, text),
    };
  }

  return {
    onPart({ name, fileName: sent }) {
      if (name !== "file") return fieldSink(name);
      if (fileName !== undefined) throw new GatewayError("invalid_request", "Send only one `file`.", { field: "file" });
      fileName = tidyName(sent ?? "");
      return fileSink();
    },
    end() {
      const unsupported = [...fields.keys()].find((name) => name !== "purpose" && !isExpiresAfter(name));
      if (unsupported !== undefined)
        throw new GatewayError(
          "invalid_request",
          "Send only `purpose`, `file`, `expires_after[anchor]` and `expires_after[seconds]`.",
          { field: unsupported.slice(0, MAX_NAME_CHARACTERS) },
        );
      if (fields.get("purpose") !== "batch")
        throw new GatewayError(
          "invalid_request",
          "`purpose` must be batch: this gateway supports files for batches only. Send the content of other files in the request that refers to them.",
          { field: "purpose" },
        );
      if (fileName === undefined)
        throw new GatewayError("invalid_request", "`file` is missing. Send the file of requests in this field.", {
          field: "file",
        });
      const { expires_after = KEPT_SECONDS } = readJson({ expires_after: expiresAfterOf(fields) }, expiry);
      return { name: fileName, keptSeconds: expires_after };
    },
  };
}

/** Of a path, the last part; of a text that Postgres or a terminal cannot show, nothing. */
function tidyName(sent: string): string {
  const name = sent.slice(Math.max(sent.lastIndexOf("/"), sent.lastIndexOf("\\")) + 1);
  const shown = name.replaceAll(/\p{C}/gu, "").slice(0, MAX_NAME_CHARACTERS).toWellFormed();
  return shown === "" ? "batch.jsonl" : shown;
}
