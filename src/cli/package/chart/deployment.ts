// The template of the operator's Deployment.

import {
  operatorContainer,
  withContainer,
  type Container,
  type OperatorProject,
  type Workload,
} from '#src/cli/package/project/operator-project.js';
import {isMetricsArgument} from './purposes.js';
import {indented, type Template} from './template-text.js';
import {yamlText} from '#src/schema/encode/yaml-text.js';

/** Returns the Deployment of a project with expressions in the places of values. */
export const deploymentTemplate = ({workload, facts}: OperatorProject, template: Template): Workload => {
  const pod = workload.spec!.template;
  const {labels, annotations: _, ...metadata} = pod.metadata ?? {};
  const podSpec = {
    ...pod.spec!,
    serviceAccountName: template.value(`include "${facts.name}.serviceAccountName" .`),
    priorityClassName: template.lines(indent => [
      `${indent}{{- with .Values.priorityClassName }}`,
      `${indent}priorityClassName: {{ . }}`,
      `${indent}{{- end }}`,
    ]),
    securityContext: template.optional('securityContext', '.Values.podSecurityContext'),
    ...optionals(template, ['imagePullSecrets', 'nodeSelector', 'tolerations', 'affinity', 'topologySpreadConstraints']),
  };
  const podTemplate = {
    metadata: {
      ...metadata,
      annotations: template.optional('annotations', '.Values.podAnnotations'),
      labels: template.lines(indent => [
        `${indent}labels:`,
        ...indented(yamlText(labels ?? {}), `${indent}  `),
        `${indent}  {{- with .Values.podLabels }}`,
        `${indent}  {{- toYaml . | nindent ${indent.length + 2} }}`,
        `${indent}  {{- end }}`,
      ]),
    },
    spec: podSpec,
  };
  const written = {
    ...workload,
    spec: {...workload.spec!, replicas: template.value('.Values.replicas'), template: podTemplate},
  } as unknown as Workload;
  return withContainer(written, containerTemplate(operatorContainer(workload)!, facts.name, template));
};

const optionals = (template: Template, fields: readonly string[]): Record<string, string> =>
  Object.fromEntries(fields.map(field => [field, template.optional(field, `.Values.${field}`)]));

const containerTemplate = (container: Container, name: string, template: Template): Container => {
  const args = (container.args ?? []).map(each => (isMetricsArgument(each) ? template.itemIf('.Values.metrics.enabled', each) : each));
  const more = template.lines(indent => [
    `${indent}{{- with .Values.extraArgs }}`,
    `${indent}{{- toYaml . | nindent ${indent.length} }}`,
    `${indent}{{- end }}`,
  ]);
  const ports = (container.ports ?? []).map(port =>
    port.name === 'metrics' ? template.itemIf('.Values.metrics.enabled', port) : port,
  ) as Container['ports'];
  return {
    ...container,
    args: [...args, more],
    image: template.value(`include "${name}.image" .`),
    imagePullPolicy: template.value('.Values.image.pullPolicy'),
    ...(ports && ports.length > 0 ? {ports} : {}),
    ...optionals(template, ['env', 'resources', 'securityContext']),
  } as unknown as Container;
};
