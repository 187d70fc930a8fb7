import { getCACertificates } from "node:tls";
import * as z from "zod";
import { portVariable, readEnv } from "../runtime/env.ts";
import { createLifecycle, exitOnSignals } from "../runtime/lifecycle.ts";
import { createLog } from "../runtime/log.ts";
import { startOperator } from "./operator.ts";
import { localUpstreamsSchema } from "./source/local-upstreams.ts";

const environment = readEnv(
  {
    DATABASE_URL: z.string().min(1),
    GATEWAY_MANIFESTS: z.string().min(1),
    XDS_HOST: z.string().default("127.0.0.1"),
    XDS_PORT: portVariable.default(9004),
    ADMIN_HOST: z.string().default("127.0.0.1"),
    ADMIN_PORT: portVariable.default(9005),
    LOG_LEVEL: z.string().default("info"),
    GATEWAY_LOCAL_UPSTREAMS: z
      .string()
      .default("{}")
      .transform((text, context): unknown => {
        try {
          return JSON.parse(text);
        } catch {
          // The parser's own words quote the text, which may hold a key.
          context.addIssue({ code: "custom", message: "must be JSON" });
          return z.NEVER;
        }
      })
      .pipe(localUpstreamsSchema),
  },
  process.env,
);
const log = createLog({ process: "operator", level: environment.LOG_LEVEL });
const lifecycle = createLifecycle(log);
exitOnSignals(lifecycle);

await startOperator(
  {
    databaseUrl: environment.DATABASE_URL,
    manifests: environment.GATEWAY_MANIFESTS,
    localUpstreams: environment.GATEWAY_LOCAL_UPSTREAMS,
    xds: { host: environment.XDS_HOST, port: environment.XDS_PORT },
    admin: { host: environment.ADMIN_HOST, port: environment.ADMIN_PORT },
    // Node's own list, with what NODE_EXTRA_CA_CERTS adds: the same on every machine, whatever Envoy's image holds.
    rootsPem: getCACertificates("default").join("\n"),
  },
  { log, lifecycle },
);
