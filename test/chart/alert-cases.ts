import { NAMESPACE } from "./harness-render.ts";

/** Series of a metric's labels, and what it says each minute, as promtool writes it: `5x60`, `0+1x60`. */
export type Series = Readonly<Record<string, string>>;

export interface AlertCase {
  alert: string;
  /** Labels of the alert besides its severity. */
  labels: Readonly<Record<string, string>>;
  fires: Series;
  /** Series that look alike and are in order. */
  quiet: Readonly<Record<string, Series>>;
  /** It also fires where these are all: without an operator or an extproc there is nobody who tells of it. */
  silence?: Series;
}

/** One request a second, told each minute. */
const SIXTY_A_MINUTE = "0+60x90";
const NONE = "0x90";

/** A metric of the release, with further labels. */
function series(name: string, labels = ""): string {
  return `${name}{namespace="${NAMESPACE}"${labels === "" ? "" : `,${labels}`}}`;
}

const requests = { [series("gateway_requests_total", 'model="large",interface="chat",outcome="complete"')]: SIXTY_A_MINUTE };
const answers = (code: string) =>
  series("envoy_http_downstream_rq_xx", `envoy_http_conn_manager_prefix="clients",envoy_response_code_class="${code}"`);
const upstreamFailures = (code: string) => series("gateway_upstream_failures_total", `model="large",code="${code}"`);
const failedAttempts = (result: string) => series("gateway_failed_attempts_total", `model="large",result="${result}"`);
const envoys = { [series("envoy_server_live", 'pod="a"')]: "1x90", [series("envoy_server_live", 'pod="b"')]: "1x90" };
const calls = (code: string) => series("rest_client_requests_total", `method="GET",code="${code}"`);
const rollouts = (outcome: string) => series("gateway_operator_rollouts_total", `outcome="${outcome}"`);

/** Ninety minutes of each; alerts are asked for at the end of the first sixty. */
export const ALERT_CASES: readonly AlertCase[] = [
  {
    alert: "GatewayLedgerInconsistent",
    labels: {},
    fires: { [series("gateway_ledger_differences", 'pod="a"')]: NONE, [series("gateway_ledger_differences", 'pod="b"')]: "1x90" },
    quiet: { "all adds up": { [series("gateway_ledger_differences", 'pod="a"')]: NONE } },
  },
  {
    alert: "GatewaySettlementsQueued",
    labels: {},
    fires: {
      [series("gateway_queued_settlements", 'pod="a"')]: "600x90",
      [series("gateway_queued_settlements", 'pod="b"')]: "600x90",
    },
    quiet: {
      "a usual queue": { [series("gateway_queued_settlements", 'pod="a"')]: "900x90" },
      "a burst that is over soon": { [series("gateway_queued_settlements", 'pod="a"')]: "0x56 5000x3 0x30" },
    },
  },
  {
    alert: "GatewaySettlementsRejected",
    labels: {},
    fires: {
      [series("gateway_refused_settlements", 'pod="a"')]: NONE,
      [series("gateway_refused_settlements", 'pod="b"')]: "1x90",
    },
    quiet: { "one that was accepted later": { [series("gateway_refused_settlements", 'pod="a"')]: "0x40 1x3 0x47" } },
  },
  {
    alert: "GatewayJournalFillingUp",
    labels: { pod: "b" },
    fires: {
      [series("gateway_journal_bytes", 'pod="a"')]: "1000x90",
      [series("gateway_journal_bytes", 'pod="b"')]: "0+10000000x90",
    },
    quiet: { "two pods that are half as full": { [series("gateway_journal_bytes", 'pod="a"')]: "200000000x90" } },
  },
  {
    alert: "GatewayJournalNotWritable",
    labels: { pod: "b" },
    fires: {
      [series("gateway_journal_failing", 'pod="a"')]: NONE,
      [series("gateway_journal_failing", 'pod="b"')]: "0x50 1x40",
    },
    quiet: { "a disk that was full for a moment": { [series("gateway_journal_failing", 'pod="a"')]: "0x30 1x1 0x59" } },
  },
  {
    alert: "GatewayJournalDamaged",
    labels: { pod: "b" },
    // A new process had counted before it was first scraped.
    fires: {
      [series("gateway_damaged_journals", 'pod="a"')]: NONE,
      [series("gateway_damaged_journals", 'pod="b"')]: "1x90",
      [series("gateway_journal_damaged_records_total", 'pod="b"')]: "3x90",
    },
    quiet: {
      "somebody has taken it away": {
        [series("gateway_damaged_journals", 'pod="b"')]: "1x20 0x70",
        [series("gateway_journal_damaged_records_total", 'pod="b"')]: "3x90",
      },
    },
  },
  {
    alert: "GatewayUsageEstimated",
    labels: { model: "large" },
    fires: { ...requests, [series("gateway_estimated_requests_total", 'model="large"')]: "0+12x90" },
    quiet: { "one in twenty": { ...requests, [series("gateway_estimated_requests_total", 'model="large"')]: "0+3x90" } },
  },
  {
    alert: "GatewayUsageAnomalies",
    labels: { model: "large", anomaly: "short" },
    fires: { [series("gateway_usage_anomalies_total", 'model="large",anomaly="short"')]: "1x50 2x40" },
    quiet: { "one long ago": { [series("gateway_usage_anomalies_total", 'model="large",anomaly="short"')]: "0x20 1x70" } },
  },
  {
    alert: "GatewayDown",
    labels: { namespace: NAMESPACE },
    fires: { 'gateway_open_streams{namespace="elsewhere"}': NONE },
    silence: {},
    quiet: { "one pod of several is left": { [series("gateway_open_streams", 'pod="b"')]: NONE } },
  },
  {
    alert: "GatewayInternalErrors",
    labels: {},
    fires: { [series("gateway_internal_failures_total", 'pod="a"')]: "0x55 1x35" },
    quiet: { "a failure of an hour ago": { [series("gateway_internal_failures_total", 'pod="a"')]: "0x5 1x85" } },
  },
  {
    alert: "GatewayUpstreamErrors",
    labels: { model: "large" },
    fires: { ...requests, [upstreamFailures("upstream_error")]: "0+8x90", [upstreamFailures("rate_limited")]: "0+8x90" },
    quiet: {
      "one in ten": { ...requests, [upstreamFailures("upstream_error")]: "0+6x90" },
      "a client whose requests are wrong": { ...requests, [upstreamFailures("invalid_request")]: "0+50x90" },
    },
  },
  {
    alert: "GatewayBackendFailing",
    labels: { model: "large" },
    fires: { ...requests, [failedAttempts("next_backend")]: "0+6x90" },
    quiet: {
      "one in sixty": { ...requests, [failedAttempts("next_backend")]: "0+1x90" },
      "no other backend to ask": { ...requests, [failedAttempts("gave_up")]: "0+30x90" },
    },
  },
  {
    alert: "GatewayOverloaded",
    labels: { pod: "a" },
    fires: { [series("gateway_event_loop_delay_seconds", 'pod="a"')]: "0.4x90" },
    quiet: { busy: { [series("gateway_event_loop_delay_seconds", 'pod="a"')]: "0.1x90" } },
  },
  {
    alert: "GatewayErrorRateHigh",
    labels: {},
    fires: { [answers("2")]: SIXTY_A_MINUTE, [answers("5")]: "0+6x90" },
    quiet: {
      "one in sixty": { [answers("2")]: SIXTY_A_MINUTE, [answers("5")]: "0+1x90" },
      "refusals of what clients send": { [answers("4")]: SIXTY_A_MINUTE, [answers("5")]: NONE },
    },
  },
  {
    alert: "GatewayRowsUnreadable",
    labels: { kind: "key" },
    fires: {
      [series("gateway_unreadable_rows", 'kind="key",pod="a"')]: "2x90",
      [series("gateway_unreadable_rows", 'kind="key",pod="b"')]: NONE,
    },
    quiet: { "an upgrade under way": { [series("gateway_unreadable_rows", 'kind="key",pod="a"')]: "0x60 2x15 0x15" } },
  },
  {
    alert: "GatewayLogLinesLost",
    labels: { pod: "b" },
    fires: {
      [series("gateway_dropped_log_lines_total", 'pod="a"')]: NONE,
      [series("gateway_dropped_log_lines_total", 'pod="b"')]: "0x55 0+100x35",
    },
    quiet: { "a disk that was full an hour ago": { [series("gateway_dropped_log_lines_total", 'pod="b"')]: "0x5 900x85" } },
  },
  {
    alert: "GatewayConfigurationRejected",
    labels: {},
    fires: { [series("gateway_operator_rejections_total", 'pod="a"')]: "0x55 1x35" },
    quiet: { "none for an hour": { [series("gateway_operator_rejections_total", 'pod="a"')]: "4x90" } },
  },
  {
    alert: "GatewayTrustedCaUnreadable",
    labels: {},
    fires: { [series("gateway_operator_unusable_roots", 'pod="a"')]: "0x40 2x50" },
    quiet: { "all are used": { [series("gateway_operator_unusable_roots", 'pod="a"')]: NONE } },
  },
  {
    alert: "GatewayRolloutFailing",
    labels: {},
    fires: { [rollouts("failed")]: "0+1x90", [rollouts("published")]: "3x90" },
    quiet: { "rollouts that succeed": { [rollouts("failed")]: "2x90", [rollouts("published")]: "0+1x90" } },
  },
  {
    alert: "GatewayEnvoysDisconnected",
    labels: {},
    silence: envoys,
    fires: { ...envoys, [series("gateway_operator_envoys", 'pod="o"')]: "1x90" },
    quiet: {
      "two operators that share them": {
        ...envoys,
        [series("gateway_operator_envoys", 'pod="o"')]: "1x90",
        [series("gateway_operator_envoys", 'pod="p"')]: "1x90",
      },
    },
  },
  {
    alert: "GatewayCertificateExpiring",
    labels: { secret: "envoy" },
    // Seconds since the epoch: five days and ninety.
    fires: {
      [series("gateway_operator_internal_certificate_end_timestamp_seconds", 'secret="envoy"')]: "432000x90",
      [series("gateway_operator_internal_certificate_end_timestamp_seconds", 'secret="server"')]: "7776000x90",
    },
    quiet: {
      "renewed in time": {
        [series("gateway_operator_internal_certificate_end_timestamp_seconds", 'secret="envoy"')]: "7776000x90",
      },
    },
  },
  {
    alert: "GatewayOperatorWithoutLeader",
    labels: {},
    silence: {},
    fires: {
      [series("leader_election_master_status", 'pod="o",name="operator"')]: NONE,
      [series("leader_election_master_status", 'pod="p",name="operator"')]: NONE,
    },
    quiet: {
      "one of two leads": {
        [series("leader_election_master_status", 'pod="o",name="operator"')]: NONE,
        [series("leader_election_master_status", 'pod="p",name="operator"')]: "1x90",
      },
    },
  },
  {
    alert: "GatewayOperatorForbidden",
    labels: {},
    fires: { [calls("403")]: "_x50 1+1x40", [calls("200")]: SIXTY_A_MINUTE },
    quiet: { "all is allowed": { [calls("200")]: SIXTY_A_MINUTE } },
  },
  {
    alert: "GatewayWatchStalled",
    labels: { kind: "models" },
    // Seconds since the epoch, at which promtool's time begins.
    fires: {
      [series("gateway_operator_last_event_timestamp_seconds", 'kind="models"')]: "60x90",
      [series("gateway_operator_last_event_timestamp_seconds", 'kind="apikeys"')]: "0+60x90",
    },
    quiet: {
      "the other replica hears": {
        [series("gateway_operator_last_event_timestamp_seconds", 'kind="models",pod="o"')]: "60x90",
        [series("gateway_operator_last_event_timestamp_seconds", 'kind="models",pod="p"')]: "0+60x90",
      },
    },
  },
];
