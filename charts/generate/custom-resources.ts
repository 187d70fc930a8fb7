import { parseDocument } from "yaml";

/**
 * A CustomResourceDefinition as a template. Helm never upgrades what is in a chart's crds/ folder; as a template it is
 * upgraded, and the annotation keeps it, with every resource of its kind, when the release goes.
 * @param yaml the file in crds/.
 */
export function customResourceTemplate(yaml: string): string {
  const document = parseDocument(yaml);
  document.setIn(["metadata", "annotations", "helm.sh/resource-policy"], "keep");
  const text = document.toString({ lineWidth: 0 }).replaceAll("{{", '{{ "{{" }}');
  return `{{- if .Values.crds.enabled }}\n${text}{{- end }}\n`;
}
