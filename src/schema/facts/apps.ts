import type {GroupFacts} from './form.js';

/** What the field tables of `apps` do not say by themselves. */
export const apps: GroupFacts = {
  v1: {
    ControllerRevision: {data: ':raw'},
    DaemonSetCondition: {'*': 'required(type,status)'},
    DaemonSetSpec: {selector: 'none', updateStrategy: 'value'},
    DaemonSetStatus: {
      '*': 'required(currentNumberScheduled,numberMisscheduled,desiredNumberScheduled,numberReady)',
      conditions: 'map(type) patch=merge(type)',
    },
    DeploymentCondition: {'*': 'required(type,status)'},
    DeploymentSpec: {selector: 'none', strategy: 'patch=retainKeys value'},
    DeploymentStatus: {conditions: 'map(type) patch=merge(type)'},
    ReplicaSetCondition: {'*': 'required(type,status)'},
    ReplicaSetSpec: {selector: 'none', template: 'value'},
    ReplicaSetStatus: {conditions: 'map(type) patch=merge(type)'},
    StatefulSetCondition: {'*': 'required(type,status)'},
    StatefulSetOrdinals: {start: 'value'},
    StatefulSetSpec: {selector: 'none', serviceName: 'value', updateStrategy: 'value', volumeClaimTemplates: 'atomic'},
    StatefulSetStatus: {availableReplicas: 'value', conditions: 'map(type) patch=merge(type)'},
  },
};
