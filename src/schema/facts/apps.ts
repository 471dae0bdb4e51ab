import type {GroupFacts} from './form.js';

/** What the field tables of `apps` do not say by themselves. */
export const apps: GroupFacts = {
  v1: {
    ControllerRevision: {data: ':raw'},
    DaemonSetSpec: {selector: 'none', updateStrategy: 'value'},
    DaemonSetStatus: {conditions: 'map(type) patch=merge(type)'},
    DeploymentSpec: {selector: 'none', strategy: 'patch=retainKeys value'},
    DeploymentStatus: {conditions: 'map(type) patch=merge(type)'},
    ReplicaSetSpec: {selector: 'none', template: 'value'},
    ReplicaSetStatus: {conditions: 'map(type) patch=merge(type)'},
    StatefulSetOrdinals: {start: 'value'},
    StatefulSetSpec: {selector: 'none', serviceName: 'value', updateStrategy: 'value', volumeClaimTemplates: 'atomic'},
    StatefulSetStatus: {availableReplicas: 'value', conditions: 'map(type) patch=merge(type)'},
  },
};
