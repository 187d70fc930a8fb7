import { parseDocument } from "yaml";

const COMMON_LABELS = `  {{- with .Values.commonLabels }}
  labels:
    {{- toYaml . | nindent 4 }}
  {{- end }}
`;

/**
 * A CustomResourceDefinition as a template. Helm never upgrades a chart's crds/ folder; a template is upgraded, and the
 * annotation keeps it, with every resource of its kind, when the release is uninstalled.
 * @param yaml the file in crds/.
 */
export function customResourceTemplate(yaml: string): string {
  const document = parseDocument(yaml);
  document.setIn(["metadata", "annotations", "helm.sh/resource-policy"], "keep");
  const text = document.toString({ lineWidth: 0 }).replaceAll("{{", '{{ "{{" }}');
  const labelled = text.replace(/^ {2}annotations:$/m, `${COMMON_LABELS}$&`);
  return `{{- include "model-gateway.defaults" . }}\n{{- if .Values.crds.enabled }}\n${labelled}{{- end }}\n`;
}
