/** A part of Envoy's configuration as plain data: ready for JSON or YAML, readable in the chart's ConfigMap. */
export type EnvoyConfig = Readonly<Record<string, unknown>>;
