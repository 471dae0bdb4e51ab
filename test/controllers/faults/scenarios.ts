import type {CronJob} from '#controllers/cronjob/kinds.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {wireTime} from '#src/api/time.js';
import type {KubeObject, ObjectMeta, OwnerReference} from '#src/api/types.js';
import {nodeClientUsages, nodeUser, aRequest} from '#test/controllers/requests.js';
import {aClaim as aDeviceClaim, aClaimTemplate, allocation, aPodWithClaims, consumer} from '#test/controllers/device-claims.js';
import {aTemplate} from '#test/controllers/workloads.js';
import type {Scenario} from './harness.js';
import {cloudScenarios} from './cloud-scenarios.js';
import {joiningScenarios} from './joining-scenarios.js';
import {home, type Stage} from './stage.js';

const labels = {app: 'a'};
const selector = {matchLabels: labels};
const template = (version = 1) => aTemplate(labels, `example.com/app:${version}`);
const jobTemplate = () => {
  const {spec, ...rest} = template();
  return {...rest, spec: {...spec!, restartPolicy: 'Never'}};
};
const newTemplate = {spec: {template: template(2)}};
const minute = 60_000;
const hour = 60 * minute;

const named = (...names: readonly string[]) => names.map(name => ({metadata: {name}}));
const aPod = (name: string, spec: Partial<NonNullable<Pod['spec']>> = {}, metadata: Partial<ObjectMeta> = {}): Pod => ({
  metadata: {name, labels, ...metadata},
  spec: {...template().spec!, ...spec},
});
const inHome = <T extends KubeObject>(object: T): T => ({...object, metadata: {...object.metadata, namespace: home}});
const nodes = (stage: Stage) => stage.nodes();

const signingRequest = async (stage: Stage) => {
  const signer = stage.naming.signers.apiserverClientAgent;
  const requests = stage.as(nodeUser).resource(kinds.certificateSigningRequests);
  for (const name of ['one', 'two']) await requests.create(await aRequest({name, signer, usages: nodeClientUsages}));
};
const approvalSet = async (stage: Stage) => {
  const requests = stage.client.resource(kinds.certificateSigningRequests);
  for (const csr of (await requests.list()).items) {
    await requests.update({...csr, status: {conditions: [{type: 'Approved', status: 'True', reason: 'Test'}]}}, {subresource: 'approval'});
  }
};

const jobEnds = async ({client, clock}: Stage) => {
  const jobs = client.resource(kinds.jobs);
  const time = wireTime(clock.now());
  const why = {status: 'True', lastProbeTime: time, lastTransitionTime: time, reason: '', message: ''};
  for (const {metadata, status} of (await jobs.list()).items) {
    if (status?.completionTime) continue;
    const conditions = ['SuccessCriteriaMet', 'Complete'].map(type => ({type, ...why}));
    await jobs.patch(
      metadata!.name!,
      'merge',
      {status: {startTime: time, completionTime: time, conditions}},
      {namespace: home, subresource: 'status'},
    );
  }
};

const ownedBy = (owner: {metadata?: ObjectMeta}): OwnerReference[] => [
  {apiVersion: 'v1', kind: 'ConfigMap', name: owner.metadata!.name!, uid: owner.metadata!.uid!, blockOwnerDeletion: true},
];
const family = async ({client}: Stage) => {
  const maps = client.resource(kinds.configMaps);
  for (const name of ['foreground', 'background', 'orphan']) {
    const owner = await maps.create({metadata: {namespace: home, name}});
    const child = await maps.create({metadata: {namespace: home, name: `${name}-child`, ownerReferences: ownedBy(owner)}});
    await maps.create({metadata: {namespace: home, name: `${name}-grandchild`, ownerReferences: ownedBy(child)}});
  }
};

const nodeWith = (name: string, spec: object = {}) => ({metadata: {name}, spec});
const isReady = (stage: Stage, name: string, status = 'True') => {
  const time = wireTime(stage.clock.now());
  return stage.change(
    kinds.nodes,
    name,
    {status: {conditions: [{type: 'Ready', status, lastHeartbeatTime: time, lastTransitionTime: time}]}},
    'status',
  );
};

const tokenSecret = ({naming}: Stage, name: string, account: string) => ({
  metadata: {name, annotations: {[naming.key('service-account.name')]: account}},
  type: naming.key('service-account-token'),
});

const aService = async (stage: Stage) => {
  await stage.make(kinds.services, {metadata: {name: 's'}, spec: {selector: labels, ports: [{port: 80}]}});
  await stage.make(kinds.pods, ...['one', 'two', 'three'].map(name => aPod(name, {nodeName: 'n1'})));
};
const withAddresses = async (stage: Stage, state: 'Ready' | 'NotReady', ...only: readonly string[]) => {
  for (const [i, name] of ['one', 'two', 'three'].entries()) {
    if (only.length > 0 && !only.includes(name)) continue;
    const podIP = `10.2.0.${i + 1}`;
    await stage.change(
      kinds.pods,
      name,
      {
        status: {
          phase: 'Running',
          podIP,
          podIPs: [{ip: podIP}],
          conditions: [{type: 'Ready', status: state === 'Ready' ? 'True' : 'False'}],
        },
      },
      'status',
    );
  }
};

const aClaim = (name: string) => ({metadata: {name}, spec: {accessModes: ['ReadWriteOnce'], resources: {requests: {storage: '1Gi'}}}});
const aClass = (name: string) => ({metadata: {name}, driverName: 'driver.example.com', parameters: {tier: '1'}});
const aVolume = (name: string) => ({
  metadata: {name},
  spec: {capacity: {storage: '1Gi'}, accessModes: ['ReadWriteOnce'], hostPath: {path: '/data'}},
});

/** The attacher of a driver has attached everything. */
const attachesAll = async ({client}: Stage) => {
  const attachments = client.resource(kinds.volumeAttachments);
  for (const attachment of (await attachments.list()).items)
    await attachments.update({...attachment, status: {attached: true}}, {subresource: 'status'});
};

const workload = [kinds.pods, kinds.replicaSets] as const;

/** One for each controller, by the name less `-controller`. */
export const scenarios: Readonly<Record<string, Scenario>> = {
  ...cloudScenarios,
  ...joiningScenarios,
  'certificatesigningrequest-approving': {
    steps: [signingRequest],
    touch: kinds.certificateSigningRequests,
    compare: [kinds.certificateSigningRequests],
    blurred: ['request'],
  },
  'certificatesigningrequest-signing': {
    steps: [signingRequest, approvalSet],
    touch: kinds.certificateSigningRequests,
    compare: [kinds.certificateSigningRequests],
    blurred: ['request', 'certificate'],
  },
  'certificatesigningrequest-cleaner': {
    steps: [signingRequest, approvalSet, () => Promise.resolve()],
    touch: kinds.certificateSigningRequests,
    compare: [kinds.certificateSigningRequests],
    settleMs: 26 * hour,
  },
  'clusterrole-aggregation': {
    steps: [
      async stage => {
        const part = (name: string, more: object) => ({
          metadata: {name, labels: {[`to-${name}`]: 'yes'}},
          rules: [{verbs: ['get'], apiGroups: [''], resources: [name]}],
          ...more,
        });
        const from = (...names: string[]) => ({
          aggregationRule: {clusterRoleSelectors: names.map(name => ({matchLabels: {[`to-${name}`]: 'yes'}}))},
        });
        await stage.make(kinds.clusterRoles, part('a', {}), part('b', {}), part('middle', from('a', 'b')), part('top', from('middle')));
      },
      stage => stage.change(kinds.clusterRoles, 'a', {rules: [{verbs: ['list'], apiGroups: [''], resources: ['a']}]}),
      stage => stage.remove(kinds.clusterRoles, 'b'),
    ],
    touch: kinds.clusterRoles,
    compare: [kinds.clusterRoles],
  },
  cronjob: {
    steps: [
      stage =>
        stage.make<CronJob>(kinds.cronJobs, {
          metadata: {name: 'c'},
          spec: {schedule: '*/10 * * * *', successfulJobsHistoryLimit: 1, jobTemplate: {spec: {template: jobTemplate()}}},
        }),
      () => Promise.resolve(),
      jobEnds,
      jobEnds,
      jobEnds,
    ],
    settleMs: 8 * minute,
    touch: kinds.cronJobs,
    compare: [kinds.cronJobs, kinds.jobs],
  },
  daemonset: {
    steps: [
      async stage => {
        await stage.make(kinds.nodes, ...['n1', 'n2', 'n3'].map(name => nodeWith(name)));
        await stage.make(kinds.daemonSets, {metadata: {name: 'd'}, spec: {selector, template: template()}});
      },
      nodes,
      stage => stage.change(kinds.daemonSets, 'd', newTemplate),
      nodes,
      stage => stage.remove(kinds.nodes, 'n3'),
      nodes,
    ],
    touch: kinds.daemonSets,
    compare: [kinds.daemonSets, kinds.pods, kinds.controllerRevisions],
  },
  deployment: {
    // Replica sets have no pods here: the scenario plays their controller.
    steps: [
      stage => stage.make(kinds.deployments, {metadata: {name: 'd'}, spec: {replicas: 3, selector, template: template()}}),
      setsFollow,
      stage => stage.change(kinds.deployments, 'd', newTemplate),
      setsFollow,
      setsFollow,
      setsFollow,
      setsFollow,
      stage => stage.change(kinds.deployments, 'd', {spec: {replicas: 5}}),
      setsFollow,
    ],
    touch: kinds.deployments,
    compare: [kinds.deployments, kinds.replicaSets],
  },
  'device-taint-eviction': {
    args: ['--feature-gates=DRADeviceTaints=true,DRADeviceTaintRules=true'],
    gates: ['DRADeviceTaints', 'DRADeviceTaintRules'],
    steps: [
      async stage => {
        const of = {driver: 'driver.example.com', nodeName: 'n1', pool: {name: 'p', generation: 1, resourceSliceCount: 1}};
        await stage.make(kinds.resourceSlices, {metadata: {name: 's'}, spec: {...of, devices: [{name: 'd'}]}});
        await stage.make(kinds.resourceClaims, inHome(aDeviceClaim('shared')));
        const pods = ['p', 'q'].map(name => inHome(aPodWithClaims(name, {c: {claim: 'shared'}}, {nodeName: 'n1'})));
        await stage.make(kinds.pods, ...pods);
        const made = await Promise.all(pods.map(({metadata}) => stage.client.resource(kinds.pods).get(metadata!.name!, {namespace: home})));
        await stage.change(kinds.resourceClaims, 'shared', {status: {allocation, reservedFor: made.map(consumer)}}, 'status');
      },
      stage =>
        stage.make(kinds.deviceTaintRules, {
          metadata: {name: 'r'},
          spec: {deviceSelector: {pool: 'p'}, taint: {key: 'k', effect: 'NoExecute'}},
        }),
    ],
    touch: kinds.pods,
    compare: [kinds.pods],
  },
  disruption: {
    steps: [
      async stage => {
        await stage.make(kinds.podDisruptionBudgets, {metadata: {name: 'b'}, spec: {minAvailable: 1, selector}});
        await stage.make(kinds.pods, aPod('one'), aPod('two'), aPod('three'));
      },
      nodes,
      async stage => {
        const eviction = (name: string) =>
          stage.client.request('POST', `/api/v1/namespaces/${home}/pods/${name}/eviction`, {
            body: {apiVersion: 'policy/v1', kind: 'Eviction', metadata: {name, namespace: home}},
          });
        await eviction('one');
      },
      nodes,
      stage =>
        stage.change(
          kinds.pods,
          'two',
          {
            status: {
              conditions: [
                {
                  type: 'DisruptionTarget',
                  status: 'True',
                  reason: 'EvictionByEvictionAPI',
                  lastTransitionTime: wireTime(stage.clock.now()),
                },
              ],
            },
          },
          'status',
        ),
    ],
    settleMs: 3 * minute,
    touch: kinds.podDisruptionBudgets,
    compare: [kinds.podDisruptionBudgets, kinds.pods],
  },
  endpoints: {
    steps: [
      aService,
      stage => withAddresses(stage, 'Ready'),
      stage => withAddresses(stage, 'NotReady', 'two'),
      stage => stage.remove(kinds.pods, 'one', {gracePeriodSeconds: 0}),
      stage => stage.remove(kinds.services, 's'),
    ],
    touch: kinds.services,
    compare: [kinds.endpoints],
  },
  endpointslice: {
    args: ['--max-endpoints-per-slice=2'],
    steps: [
      aService,
      stage => withAddresses(stage, 'Ready'),
      stage => withAddresses(stage, 'NotReady', 'two'),
      stage => stage.remove(kinds.pods, 'one', {gracePeriodSeconds: 0}),
    ],
    touch: kinds.services,
    compare: [kinds.endpointSlices],
  },
  'endpointslice-mirroring': {
    steps: [
      async stage => {
        await stage.make(kinds.services, {metadata: {name: 's'}, spec: {ports: [{port: 80}]}});
        await stage.make(kinds.endpoints, {metadata: {name: 's'}, subsets: [{addresses: [{ip: '10.3.0.1'}], ports: [{port: 80}]}]});
      },
      stage => stage.change(kinds.endpoints, 's', {subsets: [{addresses: [{ip: '10.3.0.1'}, {ip: '10.3.0.2'}], ports: [{port: 80}]}]}),
      stage => stage.remove(kinds.endpoints, 's'),
    ],
    touch: kinds.endpoints,
    compare: [kinds.endpointSlices],
  },
  'ephemeral-volume': {
    steps: [
      stage => {
        const {spec} = aClaim('any');
        const volumes = ['one', 'two'].map(name => ({name, ephemeral: {volumeClaimTemplate: {spec}}}));
        return stage.make(kinds.pods, aPod('p', {volumes}), aPod('q', {volumes}));
      },
      stage => stage.remove(kinds.persistentVolumeClaims, 'p-one'),
    ],
    touch: kinds.pods,
    compare: [kinds.persistentVolumeClaims],
  },
  'garbage-collector': {
    steps: [
      family,
      async stage => {
        await stage.remove(kinds.configMaps, 'foreground', {propagationPolicy: 'Foreground'});
        await stage.remove(kinds.configMaps, 'background', {propagationPolicy: 'Background'});
        await stage.remove(kinds.configMaps, 'orphan', {propagationPolicy: 'Orphan'});
      },
    ],
    touch: kinds.configMaps,
    compare: [kinds.configMaps],
  },
  'horizontal-pod-autoscaler': {
    // Nothing is measured here: the minimum counts.
    steps: [
      async stage => {
        await stage.make(kinds.deployments, {metadata: {name: 'd'}, spec: {replicas: 1, selector, template: template()}});
        const metrics = [{type: 'Resource', resource: {name: 'cpu', target: {type: 'Utilization', averageUtilization: 50}}}];
        await stage.make(kinds.horizontalPodAutoscalers, {
          metadata: {name: 'h'},
          spec: {scaleTargetRef: {apiVersion: 'apps/v1', kind: 'Deployment', name: 'd'}, minReplicas: 3, maxReplicas: 5, metrics},
        });
      },
      stage => stage.change(kinds.horizontalPodAutoscalers, 'h', {spec: {minReplicas: 1, maxReplicas: 2}}),
    ],
    settleMs: minute,
    touch: kinds.horizontalPodAutoscalers,
    compare: [kinds.horizontalPodAutoscalers, kinds.deployments],
    // Keeps the last desired count while nothing can be measured; a new controller has none yet.
    blurred: ['desiredReplicas'],
  },
  job: {
    steps: [
      stage =>
        stage.make(kinds.jobs, {metadata: {name: 'j'}, spec: {completions: 3, parallelism: 2, backoffLimit: 2, template: jobTemplate()}}),
      stage => stage.nodes('Succeeded'),
      stage =>
        stage.make(kinds.jobs, {
          metadata: {name: 'bad'},
          spec: {completionMode: 'Indexed', completions: 2, parallelism: 2, backoffLimit: 0, template: jobTemplate()},
        }),
      stage => stage.nodes('Failed'),
    ],
    settleMs: 2 * minute,
    touch: kinds.jobs,
    compare: [kinds.jobs, kinds.pods],
  },
  'legacy-serviceaccount-token-cleaner': {
    args: ['--legacy-service-account-token-clean-up-period=48h'],
    steps: [
      async stage => {
        const {legacyTokenTracking: name, systemNamespace: namespace} = stage.naming;
        await stage.make(kinds.configMaps, {metadata: {name, namespace}, data: {since: '2025-12-20'}});
        await stage.make(kinds.serviceAccounts, {metadata: {name: 'a'}, secrets: [{name: 'one'}, {name: 'two'}]});
        await stage.make(kinds.secrets, tokenSecret(stage, 'one', 'a'), tokenSecret(stage, 'two', 'a'), tokenSecret(stage, 'by-hand', 'a'));
      },
    ],
    settleMs: 8 * 24 * hour,
    touch: kinds.secrets,
    compare: [kinds.secrets, kinds.serviceAccounts],
  },
  namespace: {
    steps: [
      async stage => {
        await stage.make(kinds.namespaces, ...named(home, 'other'));
        await stage.make(kinds.configMaps, ...named('one', 'two'), {metadata: {name: 'kept', namespace: 'other'}});
        await stage.make(kinds.secrets, ...named('s'));
        await stage.make(kinds.pods, aPod('p', {nodeName: 'n1'}));
      },
      stage => stage.remove(kinds.namespaces, home),
      nodes,
      () => Promise.resolve(),
    ],
    settleMs: 2 * minute,
    touch: kinds.namespaces,
    compare: [kinds.namespaces, kinds.configMaps, kinds.secrets, kinds.pods],
  },
  'node-ipam': {
    args: ['--allocate-node-cidrs', '--cluster-cidr=10.1.0.0/22', '--service-cluster-ip-range=10.1.1.0/24'],
    steps: [
      stage => stage.make(kinds.nodes, nodeWith('n1')),
      stage => stage.make(kinds.nodes, nodeWith('n2', {podCIDR: '10.1.2.0/24', podCIDRs: ['10.1.2.0/24']})),
      stage => stage.make(kinds.nodes, nodeWith('n3')),
      // There is no room left, until a node goes.
      stage => stage.make(kinds.nodes, nodeWith('n4')),
      stage => stage.remove(kinds.nodes, 'n2'),
      stage => stage.change(kinds.nodes, 'n4', {metadata: {labels: {again: 'yes'}}}),
    ],
    touch: kinds.nodes,
    compare: [kinds.nodes],
  },
  'node-lifecycle': {
    steps: [
      async stage => {
        await stage.make(kinds.nodes, nodeWith('up'), nodeWith('down'));
        await stage.make(kinds.pods, aPod('p', {nodeName: 'down'}));
        for (const name of ['up', 'down']) await isReady(stage, name);
        await nodes(stage);
      },
      async stage => {
        for (let beat = 0; beat < 8; beat++) {
          await isReady(stage, 'up');
          await stage.clock.advance(30_000);
        }
      },
      stage => isReady(stage, 'up'),
    ],
    touch: kinds.nodes,
    compare: [kinds.nodes, kinds.pods],
  },
  'persistentvolume-attach-detach': {
    // The scenario plays the binder, and the attacher of the driver.
    steps: [
      async stage => {
        const key = stage.naming.subKey('volumes', 'controller-managed-attach-detach');
        await stage.make(kinds.nodes, ...['n1', 'n2'].map(name => ({metadata: {name, annotations: {[key]: 'true'}}})));
        for (const name of ['v1', 'v2']) {
          const claim = aClaim(name);
          await stage.make(kinds.persistentVolumeClaims, {...claim, spec: {...claim.spec, volumeName: name}});
          await stage.change(kinds.persistentVolumeClaims, name, {status: {phase: 'Bound'}}, 'status');
          const {metadata} = await stage.client.resource(kinds.persistentVolumeClaims).get(name, {namespace: home});
          const {hostPath: _, ...spec} = aVolume(name).spec;
          await stage.make(kinds.persistentVolumes, {
            metadata: {name},
            spec: {...spec, claimRef: {namespace: home, name, uid: metadata!.uid!}, csi: {driver: 'disk.example.com', volumeHandle: name}},
          });
        }
        const using = (name: string, nodeName: string) =>
          aPod(name, {nodeName, volumes: ['v1', 'v2'].map(claimName => ({name: claimName, persistentVolumeClaim: {claimName}}))});
        await stage.make(kinds.pods, using('one', 'n1'), using('two', 'n2'));
      },
      attachesAll,
      stage => stage.remove(kinds.pods, 'one', {gracePeriodSeconds: 0}),
      attachesAll,
      stage => stage.remove(kinds.pods, 'two', {gracePeriodSeconds: 0}),
    ],
    settleMs: 4 * minute,
    touch: kinds.nodes,
    compare: [kinds.nodes, kinds.volumeAttachments],
  },
  'persistentvolume-binder': {
    steps: [
      async stage => {
        const [simulated, external] = [stage.naming.key('simulated'), 'disk.example.com'];
        await stage.make(
          kinds.storageClasses,
          {metadata: {name: 'own'}, provisioner: simulated},
          {metadata: {name: 'other'}, provisioner: external},
        );
        await stage.make(kinds.persistentVolumes, aVolume('v'));
        const by = (name: string, storageClassName: string) => {
          const claim = aClaim(name);
          return {...claim, spec: {...claim.spec, storageClassName}};
        };
        await stage.make(kinds.persistentVolumeClaims, by('static', ''), by('provisioned', 'own'), by('external', 'other'));
      },
      async stage => {
        for (const name of ['static', 'provisioned']) await stage.remove(kinds.persistentVolumeClaims, name);
      },
    ],
    settleMs: 2 * minute,
    touch: kinds.persistentVolumes,
    compare: [kinds.persistentVolumes, kinds.persistentVolumeClaims],
  },
  'persistentvolume-expander': {
    steps: [
      async stage => {
        const {storageClasses, persistentVolumeClaims, persistentVolumes} = kinds;
        const driver = stage.naming.key('simulated');
        await stage.make(storageClasses, {metadata: {name: 'own'}, provisioner: driver, allowVolumeExpansion: true});
        for (const [name, volumeMode] of [
          ['files', 'Filesystem'],
          ['blocks', 'Block'],
        ] as const) {
          const claim = aClaim(name);
          await stage.make(persistentVolumeClaims, {
            ...claim,
            spec: {...claim.spec, volumeMode, storageClassName: 'own', volumeName: name},
          });
          await stage.change(persistentVolumeClaims, name, {status: {phase: 'Bound', capacity: {storage: '1Gi'}}}, 'status');
          const {metadata} = await stage.client.resource(persistentVolumeClaims).get(name, {namespace: home});
          const {hostPath: _, ...spec} = aVolume(name).spec;
          const claimRef = {namespace: home, name, uid: metadata!.uid!};
          await stage.make(persistentVolumes, {
            metadata: {name},
            spec: {...spec, volumeMode, storageClassName: 'own', claimRef, flexVolume: {driver}},
          });
        }
      },
      async stage => {
        for (const name of ['files', 'blocks'])
          await stage.change(kinds.persistentVolumeClaims, name, {spec: {resources: {requests: {storage: '2Gi'}}}});
      },
      stage => stage.change(kinds.persistentVolumeClaims, 'files', {status: {capacity: {storage: '2Gi'}}}, 'status'),
    ],
    touch: kinds.persistentVolumeClaims,
    compare: [kinds.persistentVolumes, kinds.persistentVolumeClaims],
  },
  'persistentvolume-protection': {
    steps: [
      stage => stage.make(kinds.persistentVolumes, aVolume('v'), aVolume('kept')),
      stage => stage.remove(kinds.persistentVolumes, 'v'),
    ],
    touch: kinds.persistentVolumes,
    compare: [kinds.persistentVolumes],
  },
  'volumeattributesclass-protection': {
    steps: [
      async stage => {
        await stage.make(kinds.volumeAttributesClasses, aClass('free'), aClass('used'));
        await stage.make(kinds.persistentVolumes, {
          metadata: {name: 'v'},
          spec: {
            capacity: {storage: '1Gi'},
            accessModes: ['ReadWriteOnce'],
            csi: {driver: 'driver.example.com', volumeHandle: 'v'},
            volumeAttributesClassName: 'used',
          },
        });
      },
      async stage => {
        for (const name of ['free', 'used']) await stage.remove(kinds.volumeAttributesClasses, name);
      },
      stage => stage.remove(kinds.persistentVolumes, 'v'),
    ],
    touch: kinds.volumeAttributesClasses,
    compare: [kinds.volumeAttributesClasses],
  },
  'persistentvolumeclaim-protection': {
    steps: [
      async stage => {
        await stage.make(kinds.persistentVolumeClaims, aClaim('free'), aClaim('used'));
        await stage.make(kinds.pods, aPod('p', {nodeName: 'n1', volumes: [{name: 'data', persistentVolumeClaim: {claimName: 'used'}}]}));
      },
      async stage => {
        for (const name of ['free', 'used']) await stage.remove(kinds.persistentVolumeClaims, name);
      },
      stage => stage.remove(kinds.pods, 'p', {gracePeriodSeconds: 0}),
    ],
    touch: kinds.persistentVolumeClaims,
    compare: [kinds.persistentVolumeClaims],
  },
  'pod-garbage-collector': {
    args: ['--terminated-pod-gc-threshold=1'],
    steps: [
      async stage => {
        await stage.make(kinds.nodes, nodeWith('there'));
        for (const name of ['old', 'new']) {
          await stage.make(kinds.pods, aPod(name, {nodeName: 'there'}));
          await stage.change(kinds.pods, name, {status: {phase: 'Succeeded'}}, 'status');
          await stage.clock.advance(1_000);
        }
        await stage.make(
          kinds.pods,
          aPod('lost', {nodeName: 'gone'}, {finalizers: ['example.com/hold']}),
          aPod('kept', {nodeName: 'there'}),
        );
        await stage.change(kinds.pods, 'lost', {status: {phase: 'Running'}}, 'status');
      },
    ],
    settleMs: 5 * minute,
    touch: kinds.pods,
    compare: [kinds.pods],
  },
  replicaset: {
    steps: [
      stage => stage.make(kinds.replicaSets, {metadata: {name: 'r'}, spec: {replicas: 3, selector, template: template()}}),
      nodes,
      stage => stage.change(kinds.replicaSets, 'r', {spec: {replicas: 1}}),
      nodes,
    ],
    touch: kinds.replicaSets,
    compare: [...workload],
  },
  replicationcontroller: {
    steps: [
      stage =>
        stage.make(kinds.replicationControllers, {metadata: {name: 'r'}, spec: {replicas: 3, selector: labels, template: template()}}),
      nodes,
      stage => stage.change(kinds.replicationControllers, 'r', {spec: {replicas: 1}}),
      nodes,
    ],
    touch: kinds.replicationControllers,
    compare: [kinds.replicationControllers, kinds.pods],
  },
  resourceclaim: {
    steps: [
      async stage => {
        await stage.make(kinds.resourceClaimTemplates, inHome(aClaimTemplate()));
        await stage.make(
          kinds.resourceClaims,
          inHome(aDeviceClaim('shared', {finalizers: [stage.naming.subKey('resource', 'delete-protection')]})),
        );
        const shared = {claim: 'shared'};
        await stage.make(
          kinds.pods,
          inHome(aPodWithClaims('p', {made: {template: 'template'}, shared}, {nodeName: 'n1'})),
          inHome(aPodWithClaims('q', {shared})),
        );
      },
      stage => stage.change(kinds.resourceClaims, 'shared', {status: {allocation}}, 'status'),
      stage => stage.change(kinds.pods, 'p', {status: {phase: 'Succeeded'}}, 'status'),
      stage => stage.remove(kinds.pods, 'q', {gracePeriodSeconds: 0}),
      // A stop between deallocation and removal of the finalizer leaves the finalizer until then.
      stage => stage.remove(kinds.resourceClaims, 'shared'),
    ],
    touch: kinds.resourceClaims,
    blurred: ['resourceClaimName'],
    compare: [kinds.pods, kinds.resourceClaims],
  },
  resourcequota: {
    steps: [
      async stage => {
        await stage.make(kinds.pods, aPod('one'));
        await stage.make(kinds.resourceQuotas, {metadata: {name: 'q'}, spec: {hard: {pods: '3', configmaps: '5'}}});
      },
      stage => stage.change(kinds.resourceQuotas, 'q', {spec: {hard: {pods: '4'}}}),
      stage => stage.remove(kinds.pods, 'one', {gracePeriodSeconds: 0}),
    ],
    touch: kinds.resourceQuotas,
    compare: [kinds.resourceQuotas],
  },
  'root-ca-certificate-publisher': {
    steps: [
      stage => stage.make(kinds.namespaces, ...named(home, 'other')),
      async stage => {
        const {items} = await stage.client.resource(kinds.configMaps).list({namespace: home});
        await stage.change(kinds.configMaps, items[0]!.metadata!.name!, {data: {'ca.crt': 'mine'}});
      },
      async stage => {
        const {items} = await stage.client.resource(kinds.configMaps).list({namespace: home});
        await stage.remove(kinds.configMaps, items[0]!.metadata!.name!);
      },
    ],
    touch: kinds.namespaces,
    compare: [kinds.configMaps],
  },
  'selinux-warning': {
    onlyEvents: true,
    steps: [
      async stage => {
        const claim = aClaim('c');
        await stage.make(kinds.persistentVolumeClaims, {...claim, spec: {...claim.spec, volumeName: 'v'}});
        const {metadata} = await stage.client.resource(kinds.persistentVolumeClaims).get('c', {namespace: home});
        const {spec} = aVolume('v');
        await stage.make(kinds.persistentVolumes, {
          metadata: {name: 'v'},
          spec: {...spec, claimRef: {namespace: home, name: 'c', uid: metadata!.uid!}},
        });
        const using = (name: string, level: string) =>
          aPod(name, {
            securityContext: {seLinuxOptions: {level}},
            containers: [{name: 'c', image: 'i', volumeMounts: [{name: 'data', mountPath: '/data'}]}],
            volumes: [{name: 'data', persistentVolumeClaim: {claimName: 'c'}}],
          });
        await stage.make(kinds.pods, using('one', 's0:c1'), using('two', 's0:c2'));
      },
    ],
    touch: kinds.pods,
    compare: [kinds.pods],
  },
  'service-cidr': {
    steps: [
      stage =>
        stage.make(
          kinds.serviceCIDRs,
          {metadata: {name: 'more'}, spec: {cidrs: ['192.168.0.0/24']}},
          {metadata: {name: 'stays'}, spec: {cidrs: ['192.168.1.0/24']}},
        ),
      stage => stage.remove(kinds.serviceCIDRs, 'more'),
    ],
    touch: kinds.serviceCIDRs,
    compare: [kinds.serviceCIDRs],
  },
  serviceaccount: {
    steps: [stage => stage.make(kinds.namespaces, ...named(home, 'other')), stage => stage.remove(kinds.serviceAccounts, 'default')],
    touch: kinds.namespaces,
    compare: [kinds.serviceAccounts],
  },
  'serviceaccount-token': {
    steps: [
      async stage => {
        await stage.make(kinds.serviceAccounts, ...named('a', 'b'));
        await stage.make(
          kinds.secrets,
          tokenSecret(stage, 'of-a', 'a'),
          tokenSecret(stage, 'of-b', 'b'),
          tokenSecret(stage, 'of-none', 'none'),
        );
      },
      stage => stage.change(kinds.serviceAccounts, 'a', {secrets: [{name: 'of-a'}, {name: 'kept'}]}),
      stage => stage.remove(kinds.secrets, 'of-a'),
      stage => stage.remove(kinds.serviceAccounts, 'b'),
    ],
    touch: kinds.secrets,
    compare: [kinds.secrets, kinds.serviceAccounts],
    blurred: ['token'],
    // An account may name secrets that never existed: only a controller that saw one deleted removes its name.
    lost: /^PUT .*\/serviceaccounts\//,
  },
  statefulset: {
    steps: [
      stage =>
        stage.make(kinds.statefulSets, {
          metadata: {name: 's'},
          spec: {
            replicas: 3,
            serviceName: 's',
            selector,
            template: template(),
            volumeClaimTemplates: [
              {metadata: {name: 'data'}, spec: {accessModes: ['ReadWriteOnce'], resources: {requests: {storage: '1Gi'}}}},
            ],
          },
        }),
      nodes,
      stage => stage.change(kinds.statefulSets, 's', newTemplate),
      nodes,
      stage => stage.change(kinds.statefulSets, 's', {spec: {replicas: 1}}),
      nodes,
    ],
    touch: kinds.statefulSets,
    compare: [kinds.statefulSets, kinds.pods, kinds.controllerRevisions, kinds.persistentVolumeClaims],
  },
  'storage-version-migrator': {
    args: ['--feature-gates=StorageVersionMigrator=true'],
    gates: ['StorageVersionMigrator'],
    steps: [
      stage => stage.make(kinds.configMaps, ...named('one', 'two')),
      stage =>
        stage.make(
          kinds.storageVersionMigrations,
          {metadata: {name: 'maps'}, spec: {resource: {group: '', resource: 'configmaps'}}},
          {metadata: {name: 'nothing'}, spec: {resource: {group: 'example.com', resource: 'nothing'}}},
        ),
    ],
    settleMs: 5 * minute,
    touch: kinds.storageVersionMigrations,
    compare: [kinds.storageVersionMigrations, kinds.configMaps],
  },
  'storageversion-garbage-collector': {
    args: ['--feature-gates=StorageVersionAPI=true,APIServerIdentity=true'],
    gates: ['StorageVersionAPI', 'APIServerIdentity'],
    steps: [
      async stage => {
        const identity = {[stage.naming.subKey('apiserver', 'identity')]: stage.naming.component('apiserver')};
        for (const name of ['first', 'second'])
          await stage.make(kinds.leases, {metadata: {name, namespace: stage.naming.systemNamespace, labels: identity}, spec: {}});
        for (const [name, ...servers] of [
          ['example.com.two', 'first', 'second', 'nobody'],
          ['example.com.one', 'second'],
          ['example.com.none', 'nobody'],
        ]) {
          await stage.make(kinds.storageVersions, {metadata: {name: name!}, spec: {}, status: {}});
          const storageVersions = servers.map(apiServerID => ({apiServerID, encodingVersion: 'v1', decodableVersions: ['v1']}));
          await stage.change(kinds.storageVersions, name!, {status: {storageVersions, commonEncodingVersion: 'v1'}}, 'status');
        }
      },
      stage => stage.client.resource(kinds.leases).delete('second', {namespace: stage.naming.systemNamespace}),
    ],
    touch: kinds.storageVersions,
    compare: [kinds.storageVersions],
  },
  'taint-eviction': {
    steps: [
      async stage => {
        await stage.make(kinds.nodes, nodeWith('n1'));
        const forAWhile = [{key: 'bad', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 10}];
        await stage.make(
          kinds.pods,
          aPod('one', {nodeName: 'n1'}),
          aPod('two', {nodeName: 'n1', tolerations: forAWhile}),
          aPod('ever', {nodeName: 'n1', tolerations: [{operator: 'Exists'}]}),
        );
      },
      stage => stage.change(kinds.nodes, 'n1', {spec: {taints: [{key: 'bad', effect: 'NoExecute'}]}}),
    ],
    touch: kinds.pods,
    compare: [kinds.pods],
  },
  ttl: {
    steps: [
      stage => stage.make(kinds.nodes, ...named('one', 'two')),
      stage => stage.change(kinds.nodes, 'one', {metadata: {annotations: {[stage.naming.subKey('node.alpha', 'ttl')]: '7'}}}),
    ],
    touch: kinds.nodes,
    compare: [kinds.nodes],
  },
  'ttl-after-finished': {
    steps: [
      stage =>
        stage.make(
          kinds.jobs,
          ...['one', 'two'].map(name => ({metadata: {name}, spec: {ttlSecondsAfterFinished: 20, template: jobTemplate()}})),
          {metadata: {name: 'kept'}, spec: {template: jobTemplate()}},
        ),
      jobEnds,
    ],
    touch: kinds.jobs,
    compare: [kinds.jobs],
  },
  'validatingadmissionpolicy-status': {
    steps: [
      stage =>
        stage.make(kinds.validatingAdmissionPolicies, {
          metadata: {name: 'wrong'},
          spec: {
            matchConstraints: {
              resourceRules: [{operations: ['CREATE'], apiGroups: ['apps'], apiVersions: ['v1'], resources: ['deployments']}],
            },
            validations: [{expression: 'object.spec.missing > 1'}],
          },
        }),
      stage => stage.change(kinds.validatingAdmissionPolicies, 'wrong', {spec: {failurePolicy: 'Ignore'}}),
    ],
    touch: kinds.validatingAdmissionPolicies,
    compare: [kinds.validatingAdmissionPolicies],
  },
};

/** Acts as the replica set controller: the desired number of pods runs. */
async function setsFollow({client}: Stage): Promise<void> {
  const sets = client.resource(kinds.replicaSets);
  for (const {metadata, spec} of (await sets.list()).items) {
    const {replicas = 0} = spec!;
    const status = {
      replicas,
      fullyLabeledReplicas: replicas,
      readyReplicas: replicas,
      availableReplicas: replicas,
      observedGeneration: metadata!.generation!,
    };
    await sets.patch(metadata!.name!, 'merge', {status}, {namespace: home, subresource: 'status'});
  }
}
