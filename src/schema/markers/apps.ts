import type {GroupMarkers} from './types.js';

/** The markers of `apps`, which its field tables do not contain. */
export const apps: GroupMarkers = {
  v1: {
    ControllerRevision: {data: ':raw'},
    DaemonSetCondition: {'*': 'required(type,status)', lastTransitionTime: 'null'},
    DaemonSetSpec: {'*': 'pointers(revisionHistoryLimit)', selector: 'none', updateStrategy: 'value'},
    DaemonSetStatus: {
      '*': 'required(currentNumberScheduled,numberMisscheduled,desiredNumberScheduled,numberReady) pointers(collisionCount)',
      conditions: 'map(type) patch=merge(type)',
    },
    DeploymentCondition: {'*': 'required(type,status)', lastTransitionTime: 'null', lastUpdateTime: 'null'},
    DeploymentSpec: {
      '*': 'pointers(progressDeadlineSeconds,replicas,revisionHistoryLimit)',
      selector: 'none',
      strategy: 'patch=retainKeys value',
    },
    DeploymentStatus: {'*': 'pointers(collisionCount,terminatingReplicas)', conditions: 'map(type) patch=merge(type)'},
    ReplicaSetCondition: {'*': 'required(type,status)', lastTransitionTime: 'null'},
    ReplicaSetSpec: {'*': 'pointers(replicas)', selector: 'none', template: 'value'},
    ReplicaSetStatus: {'*': 'pointers(terminatingReplicas)', conditions: 'map(type) patch=merge(type)'},
    RollingUpdateStatefulSetStrategy: {'*': 'pointers(partition)'},
    StatefulSetCondition: {'*': 'required(type,status)', lastTransitionTime: 'null'},
    StatefulSetOrdinals: {start: 'value'},
    StatefulSetSpec: {
      '*': 'pointers(replicas,revisionHistoryLimit)',
      selector: 'none',
      serviceName: 'value omitted',
      updateStrategy: 'value',
      volumeClaimTemplates: 'atomic',
    },
    StatefulSetStatus: {'*': 'pointers(collisionCount)', availableReplicas: 'value', conditions: 'map(type) patch=merge(type)'},
  },
};
