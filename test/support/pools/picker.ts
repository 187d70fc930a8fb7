import { create, type JsonObject, type MessageInitShape } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { Server, ServerCredentials, status as grpcStatus, type ServerDuplexStream } from "@grpc/grpc-js";
import {
  BodyMutationSchema,
  ExternalProcessor,
  ProcessingResponseSchema,
  type ProcessingRequest,
  type ProcessingResponse,
} from "../../../runtime/gen/envoy/service/ext_proc/v3/external_processor_pb.js";
import { serviceDefinition } from "../../../runtime/grpc.ts";

/** What a picker does with a request. */
export type Pick =
  /** Names pods, as `ip:port,ip:port`. */
  | { kind: "pods"; pods: string }
  /** Answers itself, with a text that nobody outside is to see. */
  | { kind: "refuse"; status: number }
  /** Reads the whole request and never answers. */
  | { kind: "silent" }
  /** Does not even read it. */
  | { kind: "deaf" }
  /** Ends the stream with an error. */
  | { kind: "fail" };

interface Asked {
  path: string;
  headers: Readonly<Record<string, string>>;
  bodyBytes: number;
  /** The pod that answered, as Envoy reports it. */
  served: string | null;
  responseStatus: string | null;
}

export interface FakePicker {
  readonly port: number;
  readonly asked: readonly Asked[];
  /** For the requests from now on. */
  pick: Pick;
  stop(): void;
}

/** An endpoint picker that speaks the Endpoint Picker Protocol 1.0 and chooses what the test says. */
export async function startFakePicker(
  pick: Pick,
  { host = "127.0.0.1", port = 0, credentials = ServerCredentials.createInsecure() } = {},
): Promise<FakePicker> {
  const asked: Asked[] = [];
  const server = new Server({ "grpc.max_receive_message_length": -1 });
  server.addService(serviceDefinition(ExternalProcessor), { process: (call: Call) => serve(call, picker.pick, asked) });
  const { promise: bound, resolve, reject } = Promise.withResolvers<number>();
  server.bindAsync(`${host}:${port}`, credentials, (error, given) => (error === null ? resolve(given) : reject(error)));
  const picker: FakePicker & { pick: Pick } = { port: await bound, asked, pick, stop: () => server.forceShutdown() };
  return picker;
}

type Call = ServerDuplexStream<ProcessingRequest, ProcessingResponse>;

const NAMESPACE = "envoy.lb";
const ENDPOINT = "x-gateway-destination-endpoint";
/** As much as fits into a message of the protocol. */
const CHUNK_BYTES = 62_000;

function serve(call: Call, pick: Pick, asked: Asked[]): void {
  const record: Asked = { path: "", headers: {}, bodyBytes: 0, served: null, responseStatus: null };
  const chunks: Uint8Array[] = [];
  asked.push(record);
  const send = (response: MessageInitShape<typeof ProcessingResponseSchema>) =>
    call.write(create(ProcessingResponseSchema, response));
  call.on("error", () => undefined);
  call.on("end", () => call.end());

  /** Only when it has all of the request: first the headers, then the body, as it came. */
  function choose(): void {
    switch (pick.kind) {
      case "pods":
        send({
          response: {
            case: "requestHeaders",
            value: {
              response: { headerMutation: { setHeaders: [{ header: { key: ENDPOINT, rawValue: Buffer.from(pick.pods) } }] } },
            },
          },
          dynamicMetadata: { [NAMESPACE]: { [ENDPOINT]: pick.pods } } satisfies JsonObject,
        });
        return sendBody();
      case "refuse":
        send({
          response: {
            case: "immediateResponse",
            value: { status: { code: pick.status }, body: Buffer.from("pods 10.1.2.3 are busy") },
          },
        });
        return;
      case "fail":
        call.emit("error", { code: grpcStatus.UNAVAILABLE, details: "the picker fails" });
        return;
      case "silent":
      case "deaf":
    }
  }

  function sendBody(): void {
    const body = Buffer.concat(chunks);
    for (let at = 0; at === 0 || at < body.length; at += CHUNK_BYTES)
      send({
        response: {
          case: "requestBody",
          value: { response: { bodyMutation: streamed(body.subarray(at, at + CHUNK_BYTES), at + CHUNK_BYTES >= body.length) } },
        },
      });
  }

  if (pick.kind === "deaf") return void call.pause();
  call.on("data", ({ request, metadataContext }: ProcessingRequest) => {
    switch (request.case) {
      case "requestHeaders":
        record.headers = Object.fromEntries(
          (request.value.headers?.headers ?? []).map(({ key, value, rawValue }) => [
            key,
            value === "" ? Buffer.from(rawValue).toString("utf8") : value,
          ]),
        );
        record.path = record.headers[":path"] ?? "";
        if (request.value.endOfStream) choose();
        return;
      case "requestBody":
        record.bodyBytes += request.value.body.length;
        chunks.push(request.value.body);
        if (request.value.endOfStream) choose();
        return;
      case "responseHeaders": {
        const served = metadataContext?.filterMetadata[NAMESPACE]?.[`${ENDPOINT}-served`];
        record.served = typeof served === "string" ? served : null;
        record.responseStatus =
          request.value.headers?.headers
            .map(({ key, value, rawValue }) => (key === ":status" ? value || Buffer.from(rawValue).toString("utf8") : null))
            .find((status) => status !== null) ?? null;
        send({ response: { case: "responseHeaders", value: {} } });
        return;
      }
      case "requestTrailers":
        send({ response: { case: "requestTrailers", value: {} } });
        return;
      case "responseBody":
      case "responseTrailers":
      case undefined:
        throw new Error(`the filter asks for no ${request.case}`);
    }
  });
}

/** BodyMutation.streamed_response, a field that the protos at hand lack (as in extproc/reply.ts). */
function streamed(body: Uint8Array, isEnd: boolean) {
  const response = new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(body).tag(2, WireType.Varint).bool(isEnd).finish();
  const data = new BinaryWriter().bytes(response).finish();
  const mutation = create(BodyMutationSchema);
  mutation.$unknown = [{ no: 3, wireType: WireType.LengthDelimited, data }];
  return mutation;
}
