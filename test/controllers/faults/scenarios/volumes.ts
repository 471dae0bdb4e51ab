import {kinds} from '#src/api/kinds/index.js';
import type {Scenario} from '#test/controllers/faults/harness.js';
import {home, type Stage} from '#test/controllers/faults/stage.js';
import {minute, aPod} from './objects.js';

const aClaim = (name: string) => ({metadata: {name}, spec: {accessModes: ['ReadWriteOnce'], resources: {requests: {storage: '1Gi'}}}});
const aClass = (name: string) => ({metadata: {name}, driverName: 'driver.example.com', parameters: {tier: '1'}});
const aVolume = (name: string) => ({
  metadata: {name},
  spec: {capacity: {storage: '1Gi'}, accessModes: ['ReadWriteOnce'], hostPath: {path: '/data'}},
});

/** Acts as the binder: creates a volume and a claim of the same name that are bound to each other. */
const bound = async ({make, change, client}: Stage, name: string, claim: object, volume: object) => {
  const {persistentVolumeClaims, persistentVolumes} = kinds;
  await make(persistentVolumeClaims, {metadata: {name}, spec: {...aClaim(name).spec, volumeName: name, ...claim}});
  await change(persistentVolumeClaims, name, {status: {phase: 'Bound', capacity: {storage: '1Gi'}}}, 'status');
  const {metadata} = await client.resource(persistentVolumeClaims).get(name, {namespace: home});
  const {hostPath: _, ...spec} = aVolume(name).spec;
  await make(persistentVolumes, {metadata: {name}, spec: {...spec, claimRef: {namespace: home, name, uid: metadata!.uid!}, ...volume}});
};

/** The attacher of a driver has attached everything. */
const attachesAll = async ({client}: Stage) => {
  const attachments = client.resource(kinds.volumeAttachments);
  for (const attachment of (await attachments.list()).items)
    await attachments.update({...attachment, status: {attached: true}}, {subresource: 'status'});
};

/** Scenarios of the controllers of volumes. */
export const volumeScenarios: Readonly<Record<string, Scenario>> = {
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
  'persistentvolume-attach-detach': {
    // The scenario plays the binder, and the attacher of the driver.
    steps: [
      async stage => {
        const key = stage.naming.subKey('volumes', 'controller-managed-attach-detach');
        await stage.make(kinds.nodes, ...['n1', 'n2'].map(name => ({metadata: {name, annotations: {[key]: 'true'}}})));
        for (const name of ['v1', 'v2']) await bound(stage, name, {}, {csi: {driver: 'disk.example.com', volumeHandle: name}});
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
        const {spec} = aVolume('recycled');
        const recycled = {...spec, persistentVolumeReclaimPolicy: 'Recycle', storageClassName: 'recycled'};
        await stage.make(kinds.persistentVolumes, aVolume('v'), {metadata: {name: 'recycled'}, spec: recycled});
        const by = (name: string, storageClassName: string) => {
          const claim = aClaim(name);
          return {...claim, spec: {...claim.spec, storageClassName}};
        };
        await stage.make(
          kinds.persistentVolumeClaims,
          by('static', ''),
          by('provisioned', 'own'),
          by('external', 'other'),
          by('scrubbed', 'recycled'),
        );
      },
      async stage => {
        for (const name of ['static', 'provisioned', 'scrubbed']) await stage.remove(kinds.persistentVolumeClaims, name);
      },
      stage => stage.nodes('Succeeded'),
    ],
    settleMs: 2 * minute,
    touch: kinds.persistentVolumes,
    compare: [kinds.persistentVolumes, kinds.persistentVolumeClaims],
  },
  'persistentvolume-expander': {
    steps: [
      async stage => {
        const driver = stage.naming.key('simulated');
        await stage.make(kinds.storageClasses, {metadata: {name: 'own'}, provisioner: driver, allowVolumeExpansion: true});
        for (const [name, volumeMode] of [
          ['files', 'Filesystem'],
          ['blocks', 'Block'],
        ] as const) {
          const both = {volumeMode, storageClassName: 'own'};
          await bound(stage, name, both, {...both, flexVolume: {driver}});
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
  'selinux-warning': {
    onlyEvents: true,
    gates: ['SELinuxMountReadWriteOncePod'],
    steps: [
      async stage => {
        await stage.make(kinds.csiDrivers, {metadata: {name: 'disk.example.com'}, spec: {seLinuxMount: true}});
        await bound(stage, 'c', {}, {csi: {driver: 'disk.example.com', volumeHandle: 'h'}});
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
};
