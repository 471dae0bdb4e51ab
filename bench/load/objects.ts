import {kinds, type Kind} from '#src/api/kinds/index.js';
import {isAlreadyExists} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {Client} from '#src/client/client.js';
import {each} from './each.js';

/** The namespace of all namespaced objects. */
export const namespace = 'bench';

/** How objects of a kind and their status are created, the same number of each. */
interface Member {
  readonly kind: Kind;
  readonly of: (index: number) => object;
}

const here = (name: string, metadata: object = {}) => ({metadata: {namespace, name, ...metadata}});
const template = (index: number) => ({
  metadata: {labels: {app: 'all', n: `${index}`}},
  spec: {containers: [{name: 'c', image: 'i', resources: {requests: {cpu: '10m', memory: '1Mi'}}}]},
});
const selector = (index: number) => ({matchLabels: {n: `${index}`}});
const namespaced = (index: number) => ({
  selector: {matchLabels: {made: `${index}`}},
  template: {...template(index), metadata: {labels: {made: `${index}`}}},
});
const zones = ['a', 'b', 'c'];

/** In this order: nodes, objects that pods mount, pods, workloads. */
const members: readonly Member[] = [
  {kind: kinds.namespaces, of: index => ({metadata: {name: `crowd-${index}`}})},
  {
    kind: kinds.nodes,
    of: index => ({
      metadata: {name: `node-${index}`, labels: {'topology.kubernetes.io/zone': zones[index % 3]}},
      status: {
        allocatable: {cpu: '32', memory: '64Gi', pods: '110'},
        capacity: {cpu: '32', memory: '64Gi', pods: '110'},
        conditions: [{type: 'Ready', status: 'True', reason: 'Ready', message: 'ok'}],
      },
    }),
  },
  {
    kind: kinds.csiNodes,
    of: index => ({
      metadata: {name: `node-${index}`},
      spec: {
        drivers: [{name: 'csi.example.com', nodeID: `${index}`, topologyKeys: ['topology.kubernetes.io/zone'], allocatable: {count: 20}}],
      },
    }),
  },
  {
    kind: kinds.csiStorageCapacities,
    of: index => ({
      ...here(`capacity-${index}`),
      storageClassName: 'late',
      capacity: '100Gi',
      nodeTopology: {matchLabels: {'topology.kubernetes.io/zone': zones[index % 3]}},
    }),
  },
  {
    kind: kinds.persistentVolumes,
    of: index => ({
      metadata: {name: `pv-${index}`},
      spec: {
        capacity: {storage: '1Gi'},
        accessModes: ['ReadWriteOnce'],
        csi: {driver: 'csi.example.com', volumeHandle: `${index}`},
        storageClassName: 'bound',
        claimRef: {namespace, name: `data-${index}`},
      },
    }),
  },
  {
    kind: kinds.persistentVolumeClaims,
    of: index => ({
      ...here(`data-${index}`),
      spec: {accessModes: ['ReadWriteOnce'], storageClassName: 'bound', volumeName: `pv-${index}`, resources: {requests: {storage: '1Gi'}}},
    }),
  },
  {kind: kinds.configMaps, of: index => ({...here(`map-${index}`), data: {k: 'v'}})},
  {kind: kinds.serviceAccounts, of: index => ({...here(`bot-${index}`), secrets: [{name: `token-${index}`}]})},
  {
    kind: kinds.secrets,
    of: index => ({
      ...here(`token-${index}`, {annotations: {'kubernetes.io/service-account.name': `bot-${index}`}}),
      type: 'kubernetes.io/service-account-token',
    }),
  },
  {kind: kinds.pods, of: index => pod(index)},
  {
    kind: kinds.services,
    of: index => ({...here(`service-${index}`), spec: {clusterIP: 'None', selector: {n: `${index}`}, ports: [{port: 80}]}}),
  },
  {kind: kinds.endpoints, of: index => ({...here(`mirrored-${index}`), subsets: [{addresses: [{ip: '10.1.2.3'}], ports: [{port: 80}]}]})},
  {kind: kinds.deployments, of: index => ({...here(`made-${index}`), spec: {replicas: 0, ...namespaced(index)}})},
  {kind: kinds.replicaSets, of: index => ({...here(`set-${index}`), spec: {replicas: 0, ...namespaced(index)}})},
  {
    kind: kinds.replicationControllers,
    of: index => ({...here(`rc-${index}`), spec: {replicas: 0, selector: {made: `${index}`}, template: namespaced(index).template}}),
  },
  {kind: kinds.statefulSets, of: index => ({...here(`db-${index}`), spec: {serviceName: 'db', replicas: 0, ...namespaced(index)}})},
  {
    kind: kinds.daemonSets,
    of: index => ({
      ...here(`agent-${index}`),
      spec: {
        ...namespaced(index),
        template: {...namespaced(index).template, spec: {...template(index).spec, nodeSelector: {none: 'such'}}},
      },
    }),
  },
  {
    kind: kinds.jobs,
    of: index => ({
      ...here(`job-${index}`),
      spec: {suspend: true, template: {...template(index), metadata: {}, spec: {...template(index).spec, restartPolicy: 'Never'}}},
    }),
  },
  {
    kind: kinds.cronJobs,
    of: index => ({
      ...here(`cron-${index}`),
      spec: {
        suspend: true,
        schedule: '0 0 * * *',
        jobTemplate: {spec: {template: {spec: {...template(index).spec, restartPolicy: 'Never'}}}},
      },
    }),
  },
  {
    kind: kinds.horizontalPodAutoscalers,
    of: index => ({
      ...here(`scaler-${index}`),
      spec: {maxReplicas: 2, scaleTargetRef: {apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'all'}},
    }),
  },
  {kind: kinds.podDisruptionBudgets, of: index => ({...here(`budget-${index}`), spec: {minAvailable: 1, selector: selector(index)}})},
  {kind: kinds.leases, of: index => ({...here(`lease-${index}`), spec: {holderIdentity: 'x', leaseDurationSeconds: 40}})},
  {
    kind: kinds.clusterRoles,
    of: index => ({
      metadata: {name: `role-${index}`, labels: {n: `${index}`}},
      rules: [{apiGroups: [''], resources: ['pods'], verbs: ['get']}],
    }),
  },
  {kind: kinds.resourceQuotas, of: index => ({...here(`quota-${index}`), spec: {hard: {pods: '100000', 'requests.cpu': '100000'}}})},
];

const pod = (index: number) => ({
  ...here(`pod-${index}`, {labels: {app: 'all', n: `${index}`}}),
  spec: {
    ...template(index).spec,
    nodeName: `node-${index}`,
    tolerations: [{operator: 'Exists'}],
    volumes: [
      {name: 'data', persistentVolumeClaim: {claimName: `data-${index}`}},
      {name: 'token', secret: {secretName: `token-${index}`}},
    ],
  },
  status: {phase: 'Running', podIP: '10.9.8.7', podIPs: [{ip: '10.9.8.7'}], conditions: [{type: 'Ready', status: 'True'}]},
});

/** An object that selects all pods. */
const leaders: readonly Member[] = [
  {
    kind: kinds.storageClasses,
    of: () => ({metadata: {name: 'late'}, provisioner: 'csi.example.com', volumeBindingMode: 'WaitForFirstConsumer'}),
  },
  {kind: kinds.csiDrivers, of: () => ({metadata: {name: 'csi.example.com'}, spec: {storageCapacity: true}})},
  {kind: kinds.serviceAccounts, of: () => here('default')},
  {
    kind: kinds.replicaSets,
    of: () => ({...here('all'), spec: {replicas: 0, selector: {matchLabels: {app: 'all'}}, template: template(0)}}),
  },
  {kind: kinds.services, of: () => ({...here('all'), spec: {selector: {app: 'all'}, ports: [{port: 80}]}})},
  {kind: kinds.podDisruptionBudgets, of: () => ({...here('all'), spec: {minAvailable: 1, selector: {matchLabels: {app: 'all'}}}})},
];

/**
 * Creates `count` objects of each kind, most of them in one namespace, which is the worst case for work that relates
 * two collections.
 */
export const createObjects = async (client: Client, count: number): Promise<void> => {
  const make = async ({kind, of}: Member, index: number): Promise<void> => {
    const object = of(index) as KubeObject;
    const created = await client
      .resource(kind)
      .create(object)
      .catch((error: unknown) => {
        if (!isAlreadyExists(error)) throw new Error(`${kind.kind} ${index}`, {cause: error});
      });
    if (created && 'status' in object)
      await client.resource(kind).update({...created, status: object.status} as KubeObject, {subresource: 'status'});
  };
  await client
    .resource(kinds.namespaces)
    .create({metadata: {name: namespace}})
    .catch(() => {});
  for (const leader of leaders) await make(leader, 0);
  for (const member of members) await each(count, index => make(member, index));
  // As if the use of token secrets had been recorded long ago.
  const {legacyTokenTracking: name, systemNamespace} = client.naming;
  await client.resource(kinds.configMaps).patch(name, 'merge', {data: {since: '2020-01-01'}}, {namespace: systemNamespace});
};
