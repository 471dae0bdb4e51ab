import type {ClusterRole} from '#src/api/types.js';
import {read, type PolicyBuilders} from './builders.js';

const write = 'create delete deletecollection patch update';
const everything = `${read} ${write}`;

type Rule = PolicyBuilders['rule'];

const editorRules = (rule: Rule) => [
  rule(read, 'core', 'pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy'),
  rule('impersonate', 'core', 'serviceaccounts'),
  rule(write, 'core', 'pods pods/attach pods/exec pods/portforward pods/proxy'),
  rule('create', 'core', 'pods/eviction'),
  rule(
    write,
    'core',
    'configmaps persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets serviceaccounts services services/proxy',
  ),
  rule('create', 'core', 'serviceaccounts/token'),
  rule(write, 'core events', 'events'),
  rule(
    write,
    'apps',
    'daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale statefulsets statefulsets/scale',
  ),
  rule(write, 'autoscaling', 'horizontalpodautoscalers'),
  rule(write, 'batch', 'cronjobs jobs'),
  rule(
    write,
    'extensions',
    'daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies replicasets replicasets/scale replicationcontrollers/scale',
  ),
  rule(write, 'policy', 'poddisruptionbudgets'),
  rule(write, 'networking', 'ingresses networkpolicies'),
  rule(everything, 'coordination', 'leases'),
  rule(write, 'resource', 'resourceclaims resourceclaimtemplates'),
];

const viewerRules = (rule: Rule) => [
  rule(
    read,
    'core',
    'configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods replicationcontrollers replicationcontrollers/scale serviceaccounts services services/status',
  ),
  rule(
    read,
    'core',
    'bindings limitranges namespaces/status pods/log pods/status replicationcontrollers/status resourcequotas resourcequotas/status',
  ),
  rule(read, 'core', 'namespaces'),
  rule(read, 'core events', 'events'),
  rule(read, 'discovery', 'endpointslices'),
  rule(
    read,
    'apps',
    'controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status replicasets replicasets/scale replicasets/status statefulsets statefulsets/scale statefulsets/status',
  ),
  rule(read, 'autoscaling', 'horizontalpodautoscalers horizontalpodautoscalers/status'),
  rule(read, 'batch', 'cronjobs cronjobs/status jobs jobs/status'),
  rule(
    read,
    'extensions',
    'daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses ingresses/status networkpolicies replicasets replicasets/scale replicasets/status replicationcontrollers/scale',
  ),
  rule(read, 'policy', 'poddisruptionbudgets poddisruptionbudgets/status'),
  rule(read, 'networking', 'ingresses ingresses/status networkpolicies'),
  rule(read, 'resource', 'resourceclaims resourceclaims/status resourceclaimtemplates'),
];

/**
 * The roles of administrators, editors and viewers of a namespace. `admin`, `edit` and `view` aggregate the rules of
 * all roles with their labels; the first three roles here are those they aggregate by default.
 */
export const namespaceUserRoles = ({naming, clusterRole, rule}: PolicyBuilders): ClusterRole[] => {
  const to = (name: string): Record<string, string> => ({[naming.labels.aggregateTo(name)]: 'true'});
  const aggregated = (name: string, labels?: Record<string, string>): ClusterRole => ({
    ...clusterRole(name, [], labels),
    aggregationRule: {clusterRoleSelectors: [{matchLabels: to(name)}]},
  });
  return [
    clusterRole(
      'system:aggregate-to-admin',
      [rule('create', 'authorization', 'localsubjectaccessreviews'), rule(everything, 'rbac.authorization', 'rolebindings roles')],
      to('admin'),
    ),
    clusterRole('system:aggregate-to-edit', editorRules(rule), to('edit')),
    clusterRole('system:aggregate-to-view', viewerRules(rule), to('view')),
    aggregated('admin'),
    aggregated('edit', to('admin')),
    aggregated('view', to('edit')),
  ];
};
