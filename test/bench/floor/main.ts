import process from "node:process";
import { Client, credentials } from "@grpc/grpc-js";
import { createProcessingRequestReader } from "../../../extproc/processing-request.ts";
import { startGrpcStreams, type GrpcHandler, type GrpcMetadata, type GrpcStream } from "../../../runtime/grpc-streams.ts";
import { createReplay, type Answers } from "./answers.ts";
import { startRecording } from "./recording.ts";

/**
 * An ext_proc server that does no work of a gateway's: it reads Envoy's messages and repeats the answers that the real
 * extproc gave to the first request of the same path and length. What it costs with its Envoy is what any gateway with an
 * ext_proc service on Node.js costs at least.
 */
const [listen = "", origin = ""] = process.argv.slice(2);

const MAX_MESSAGE_BYTES = 40 * 1024 * 1024;
const SILENT_MS = 60_000;

const readMessage = createProcessingRequestReader();
const client = new Client(origin, credentials.createInsecure(), {
  "grpc.max_receive_message_length": MAX_MESSAGE_BYTES,
  "grpc.max_send_message_length": MAX_MESSAGE_BYTES,
});
const memory = new Map<string, Answers>();

await startGrpcStreams({
  address: listen,
  methods: {
    "/envoy.service.ext_proc.v3.ExternalProcessor/Process": { open: serve },
    "/envoy.service.accesslog.v3.AccessLogService/StreamAccessLogs": {
      isBackground: true,
      open: (stream) => ({ message() {}, ended: () => stream.end(), closed() {} }),
    },
  },
  maxMessageBytes: MAX_MESSAGE_BYTES,
  silentMs: SILENT_MS,
  onError: (error) => console.error(error),
});
process.on("SIGTERM", () => process.exit(0));

function serve(stream: GrpcStream, metadata: GrpcMetadata): GrpcHandler {
  let handler: GrpcHandler | undefined;
  return {
    message(message) {
      const request = readMessage(message);
      if (handler === undefined) {
        if (request.kind !== "requestHeaders") return stream.fail("the first message has no request headers");
        const name = `${request.headers.get(":path")} ${request.headers.get("content-length")}`;
        const answers = memory.get(name);
        handler =
          answers === undefined
            ? startRecording({ client, stream, metadata, onRecorded: (recorded) => void memory.set(name, recorded) })
            : createReplay(answers, { stream, read: readMessage });
      }
      handler.message(message);
    },
    ended: () => handler?.ended(),
    closed: () => handler?.closed(),
  };
}
