import {read, type ControllerRules, type PolicyBuilders} from './builders.js';

/** Controllers that run, roll out, scale and clean up pods through other objects. */
const rolloutRoles = ({reportEvents, rule}: PolicyBuilders): ControllerRules => ({
  'cronjob-controller': [
    rule('get list update watch', 'batch', 'cronjobs'),
    rule('create delete get list patch update watch', 'batch', 'jobs'),
    rule('update', 'batch', 'cronjobs/status'),
    rule('update', 'batch', 'cronjobs/finalizers'),
    rule('delete list watch', 'core', 'pods'),
    reportEvents,
  ],
  'daemon-set-controller': [
    rule(read, 'apps extensions', 'daemonsets'),
    rule('update', 'apps extensions', 'daemonsets/status'),
    rule('update', 'apps extensions', 'daemonsets/finalizers'),
    rule('list watch', 'core', 'nodes'),
    rule('create delete list patch watch', 'core', 'pods'),
    rule('create', 'core', 'pods/binding'),
    rule('create delete get list patch update watch', 'apps', 'controllerrevisions'),
    reportEvents,
  ],
  'deployment-controller': [
    rule('get list update watch', 'apps extensions', 'deployments'),
    rule('update', 'apps extensions', 'deployments/status'),
    rule('update', 'apps extensions', 'deployments/finalizers'),
    rule('create delete get list patch update watch', 'apps extensions', 'replicasets'),
    rule('get list update watch', 'core', 'pods'),
    reportEvents,
  ],
  'disruption-controller': [
    rule(read, 'apps extensions', 'deployments'),
    rule(read, 'apps extensions', 'replicasets'),
    rule(read, 'core', 'replicationcontrollers'),
    rule(read, 'policy', 'poddisruptionbudgets'),
    rule(read, 'apps', 'statefulsets'),
    rule('update', 'policy', 'poddisruptionbudgets/status'),
    rule('patch update', 'core', 'pods/status'),
    rule('get', '*', '*/scale'),
    reportEvents,
  ],
  'horizontal-pod-autoscaler': [
    rule(read, 'autoscaling', 'horizontalpodautoscalers'),
    rule('update', 'autoscaling', 'horizontalpodautoscalers/status'),
    rule('get update', '*', '*/scale'),
    rule('list watch', 'core', 'pods'),
    rule('list watch', 'metrics', 'pods'),
    rule(read, 'custom.metrics', '*'),
    rule(read, 'external.metrics', '*'),
    reportEvents,
  ],
  'job-controller': [
    rule('get list patch update watch', 'batch', 'jobs'),
    rule('update', 'batch', 'jobs/status'),
    rule('update', 'batch', 'jobs/finalizers'),
    rule('create delete list patch watch', 'core', 'pods'),
    reportEvents,
  ],
  'pod-garbage-collector': [rule('delete list watch', 'core', 'pods'), rule(read, 'core', 'nodes'), rule('patch', 'core', 'pods/status')],
});

/** Controllers that keep a number of pods. */
const replicaRoles = ({reportEvents, rule}: PolicyBuilders): ControllerRules => ({
  'replicaset-controller': [
    rule('get list update watch', 'apps extensions', 'replicasets'),
    rule('update', 'apps extensions', 'replicasets/status'),
    rule('update', 'apps extensions', 'replicasets/finalizers'),
    rule('create delete list patch watch', 'core', 'pods'),
    reportEvents,
  ],
  'replication-controller': [
    rule('get list update watch', 'core', 'replicationcontrollers'),
    rule('update', 'core', 'replicationcontrollers/status'),
    rule('update', 'core', 'replicationcontrollers/finalizers'),
    rule('create delete list patch watch', 'core', 'pods'),
    reportEvents,
  ],
  'statefulset-controller': [
    rule('list watch', 'core', 'pods'),
    rule(read, 'apps', 'statefulsets'),
    rule('update', 'apps', 'statefulsets/status'),
    rule('update', 'apps', 'statefulsets/finalizers'),
    rule('create delete get patch update', 'core', 'pods'),
    rule('create delete get list patch update watch', 'apps', 'controllerrevisions'),
    rule('create get list watch', 'core', 'persistentvolumeclaims'),
    rule('delete update', 'core', 'persistentvolumeclaims'),
    rule('update', 'core', 'pods/finalizers'),
    reportEvents,
  ],
});

/** Controllers of finished jobs and of claims to devices. */
const claimRoles = ({gate, reportEvents, rule, when}: PolicyBuilders): ControllerRules => ({
  'ttl-after-finished-controller': [rule('delete get list watch', 'batch', 'jobs'), reportEvents],
  'resource-claim-controller': [
    rule(read, 'core', 'pods'),
    rule('update', 'core', 'pods/finalizers'),
    rule('create delete get list watch', 'resource', 'resourceclaims'),
    rule('patch update', 'resource', 'resourceclaims resourceclaims/status'),
    rule('patch update', 'core', 'pods/status'),
    reportEvents,
  ],
  ...(gate('DRADeviceTaints')
    ? {
        'device-taint-eviction-controller': [
          rule(`delete ${read}`, 'core', 'pods'),
          rule('patch update', 'core', 'pods/status'),
          rule(read, 'resource', 'deviceclasses resourceclaims resourceslices'),
          ...when(
            'DRADeviceTaintRules',
            rule(read, 'resource', 'devicetaintrules'),
            rule('patch update', 'resource', 'devicetaintrules/status'),
          ),
          reportEvents,
        ],
      }
    : {}),
});

/** The rules of the controllers for workloads and their cleanup. */
export const workloadControllerRoles = (builders: PolicyBuilders): ControllerRules => ({
  ...rolloutRoles(builders),
  ...replicaRoles(builders),
  ...claimRoles(builders),
});
