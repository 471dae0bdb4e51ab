// The values of a chart: what the Deployment of the project says, and switches.

import {operatorContainer, type OperatorProject} from '#src/cli/package/project/operator-project.js';
import {yamlText} from '#src/schema/encode/yaml-text.js';
import {purposesOf} from './purposes.js';

/** A value with its comment. */
type Row = readonly [name: string, comment: string, value: unknown];

/** Returns the text of values.yaml. */
export const valuesText = (project: OperatorProject): string => {
  const {workload, image, facts} = project;
  const pod = workload.spec!.template.spec!;
  const container = operatorContainer(workload)!;
  const {hasWebhooks, hasMetrics, isMonitored} = purposesOf(project);
  const rows: readonly Row[] = [
    [
      'image',
      'The image of the operator. A digest takes precedence over the tag.',
      {...image, pullPolicy: container.imagePullPolicy ?? 'IfNotPresent'},
    ],
    ['imagePullSecrets', 'Such as [{name: registry}].', pod.imagePullSecrets ?? []],
    ['replicas', 'One replica works; the others wait to take over.', workload.spec!.replicas ?? 1],
    ['extraArgs', 'Further flags of the operator, such as --v=3.', []],
    ['env', 'Environment variables, as a container has them.', container.env ?? []],
    ['resources', '', container.resources ?? {}],
    ['podSecurityContext', '', pod.securityContext ?? {}],
    ['securityContext', '', container.securityContext ?? {}],
    ['nodeSelector', '', pod.nodeSelector ?? {}],
    ['tolerations', '', pod.tolerations ?? []],
    ['affinity', '', pod.affinity ?? {}],
    ['topologySpreadConstraints', '', pod.topologySpreadConstraints ?? []],
    ['priorityClassName', '', pod.priorityClassName ?? ''],
    ['podAnnotations', '', workload.spec!.template.metadata?.annotations ?? {}],
    ['podLabels', 'Labels besides those that select the pods.', {}],
    [
      'serviceAccount',
      `Without create, name must be that of a service account that is there. Default: ${pod.serviceAccountName ?? facts.name}.`,
      {create: true, name: '', annotations: {}},
    ],
    ['rbac', 'Without create, the service account needs the rights by other means.', {create: true}],
    ['crds', 'Without keep, uninstalling deletes the definitions, and with them all objects of their kinds.', {install: true, keep: true}],
    ...(hasWebhooks
      ? ([['webhooks', 'Without enabled, the API server does not call the admission webhooks.', {enabled: true}]] as const)
      : []),
    ...(hasMetrics ? ([metricsRow(isMonitored)] as const) : []),
  ];
  return rows.map(([name, comment, value]) => `${comment ? `# ${comment}\n` : ''}${yamlText({[name]: value})}`).join('');
};

const metricsRow = (isMonitored: boolean): Row =>
  isMonitored
    ? ['metrics', 'A ServiceMonitor needs the Prometheus operator.', {enabled: true, serviceMonitor: {enabled: false}}]
    : ['metrics', '', {enabled: true}];
