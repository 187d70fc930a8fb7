import type { EnvoyConfig } from "../envoy-config.ts";

/**
 * Appends the peer that connected to the client's list of addresses. Envoy by itself would append the machine's own address in
 * place of `127.0.0.1` and `::1` (docs/decisions/0074).
 */
export const PEER_APPENDED: EnvoyConfig = {
  append: {
    header: { key: "x-forwarded-for", value: "%DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT%" },
    append_action: "APPEND_IF_EXISTS_OR_ADD",
  },
};
