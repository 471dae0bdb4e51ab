// What the objects of a project are for, and so on which values of the chart they depend.

import {kinds, type Kind} from '#src/api/kinds/index.js';
import type {NamedObject} from '#src/plane/manifests/read.js';
import {isA} from '#src/cli/package/project/objects.js';
import {
  configuresWebhooks,
  definitionsOf,
  isForMetrics,
  operatorContainer,
  webhookServices,
  type OperatorProject,
} from '#src/cli/package/project/operator-project.js';

/** The Service of a project's metrics. */
export const metricsService = ({objects}: OperatorProject): NamedObject | undefined =>
  objects.find(object => isA(object, kinds.services as Kind) && isForMetrics(object));

const isMonitor = ({kind}: NamedObject): boolean => kind === 'ServiceMonitor';

/** Whether a project has a ServiceMonitor of its own. */
export const hasMonitor = ({objects}: OperatorProject): boolean => objects.some(isMonitor);

/** What a project has. */
export interface Purposes {
  readonly hasWebhooks: boolean;
  readonly hasMetrics: boolean;
  /** Whether the chart has a ServiceMonitor. */
  readonly isMonitored: boolean;
  /** The conditions of an object: all must hold. */
  conditionsOf(object: NamedObject): readonly string[];
}

const rights = [kinds.clusterRoles, kinds.clusterRoleBindings, kinds.roles, kinds.roleBindings] as readonly Kind[];

/** Whether an argument of the operator is about metrics. */
export const isMetricsArgument = (argument: string): boolean => argument.startsWith('--metrics-');

/** Returns what the objects of a project are for. */
export const purposesOf = (project: OperatorProject): Purposes => {
  const {objects, workload} = project;
  const configurations = objects.filter(configuresWebhooks);
  const converting = webhookServices(definitionsOf(objects));
  const admission = new Set([...webhookServices(configurations)].filter(service => !converting.has(service)));
  const account = workload.spec!.template.spec!.serviceAccountName;
  const isAccount = (object: NamedObject) => isA(object, kinds.serviceAccounts as Kind) && object.metadata.name === account;
  const isAdmission = (object: NamedObject) =>
    configuresWebhooks(object) || (isA(object, kinds.services as Kind) && admission.has(object.metadata.name));
  const tests: readonly (readonly [string, (object: NamedObject) => boolean])[] = [
    ['.Values.crds.install', object => isA(object, kinds.customResourceDefinitions as Kind)],
    ['.Values.serviceAccount.create', isAccount],
    ['.Values.rbac.create', object => rights.some(kind => isA(object, kind))],
    ['.Values.webhooks.enabled', isAdmission],
    ['.Values.metrics.enabled', object => isForMetrics(object) || isMonitor(object)],
    ['.Values.metrics.serviceMonitor.enabled', isMonitor],
  ];
  return {
    hasWebhooks: configurations.length > 0,
    hasMetrics: (operatorContainer(workload)!.args ?? []).some(isMetricsArgument) || objects.some(isForMetrics),
    isMonitored: hasMonitor(project) || metricsService(project) !== undefined,
    conditionsOf: object => tests.filter(([, holds]) => holds(object)).map(([condition]) => condition),
  };
};
