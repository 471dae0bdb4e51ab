import test from 'ava';
import attachDetach from '#controllers/persistentvolume-attach-detach/controller.js';
import binder from '#controllers/persistentvolume-binder/controller.js';
import ephemeralVolume from '#controllers/ephemeral-volume/controller.js';
import expander from '#controllers/persistentvolume-expander/controller.js';
import seLinuxWarning from '#controllers/selinux-warning/controller.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Controller} from '#src/runtime/controller.js';
import {withRole} from './role-use.js';
import {binderOptions} from './volumes.js';
import type {PlaneActions} from './workloads.js';

const own = 'plat.io/simulated';
const aClass = (name: string, provisioner: string) => ({metadata: {name}, provisioner, allowVolumeExpansion: true});
const aClaim = (name: string, spec: object = {}) => ({
  metadata: {name},
  spec: {accessModes: ['ReadWriteOnce'], resources: {requests: {storage: '1Gi'}}, ...spec},
});
const aVolume = (name: string, spec: object = {}) => ({
  metadata: {name},
  spec: {accessModes: ['ReadWriteOnce'], capacity: {storage: '1Gi'}, ...spec},
});
const aPod = (name: string, spec: object) => ({metadata: {name}, spec: {containers: [{name: 'c', image: 'i'}], ...spec}});

/** A claim and a volume that are bound to each other. */
const bound = async (at: PlaneActions, volume: object = {}, claim: object = {}) => {
  const {metadata} = await at.create(kinds.persistentVolumeClaims, aClaim('c', {volumeName: 'v', ...claim}));
  await at.patch(kinds.persistentVolumeClaims, 'c', {status: {phase: 'Bound', capacity: {storage: '1Gi'}}}, 'status');
  const claimRef = {namespace: 'default', name: 'c', uid: metadata!.uid!};
  await at.client.resource(kinds.persistentVolumes).create(aVolume('v', {claimRef, ...volume}));
};

interface RoleCase {
  readonly controller: Controller;
  readonly account: string;
  readonly flags?: object;
  /** What makes the controller do everything that it can. */
  play(at: PlaneActions): Promise<unknown>;
  /** Writes of the original's role that are not used. */
  readonly unused: readonly string[];
}

const cases: readonly RoleCase[] = [
  {
    controller: binder as Controller,
    account: 'persistent-volume-binder',
    flags: binderOptions,
    async play(at) {
      await at.client.resource(kinds.storageClasses).create(aClass('gold', own));
      await at.create(kinds.persistentVolumeClaims, aClaim('provisioned', {storageClassName: 'gold'}));
      await at.client
        .resource(kinds.persistentVolumes)
        .create(aVolume('v', {hostPath: {path: '/data'}, persistentVolumeReclaimPolicy: 'Recycle'}));
      await at.create(kinds.persistentVolumeClaims, aClaim('static'));
      await at.clock.advance(20_000);
      for (const name of ['provisioned', 'static']) await at.remove(kinds.persistentVolumeClaims, name);
      await at.clock.advance(20_000);
      await at.runs('recycler-for-v', {phase: 'Succeeded', ready: false});
      await at.clock.advance(20_000);
    },
    unused: [],
  },
  {
    controller: attachDetach as Controller,
    account: 'attachdetach-controller',
    flags: {
      attachDetachReconcileSyncPeriod: 60_000,
      disableAttachDetachReconcileSync: false,
      disableForceDetachOnTimeout: false,
      flexVolumePluginDir: '/none',
    },
    async play(at) {
      const annotations = {'volumes.plat.io/controller-managed-attach-detach': 'true'};
      await at.client.resource(kinds.nodes).create({metadata: {name: 'n', annotations}});
      await bound(at, {csi: {driver: 'disk.example.com', volumeHandle: 'h'}});
      await at.create(kinds.pods, aPod('p', {nodeName: 'n', volumes: [{name: 'v', persistentVolumeClaim: {claimName: 'c'}}]}));
      await at.clock.advance(2_000);
      const attachments = at.client.resource(kinds.volumeAttachments);
      const [attachment] = (await attachments.list()).items;
      await attachments.update({...attachment!, status: {attached: true}}, {subresource: 'status'});
      await at.clock.advance(2_000);
      await at.remove(kinds.pods, 'p', {gracePeriodSeconds: 0});
      await at.clock.advance(2_000);
    },
    // The status of nodes is patched.
    unused: ['update  nodes/status'],
  },
  {
    controller: expander as Controller,
    account: 'expand-controller',
    async play(at) {
      await at.client.resource(kinds.storageClasses).create(aClass('gold', own));
      await bound(at, {storageClassName: 'gold', flexVolume: {driver: own}}, {storageClassName: 'gold'});
      await at.patch(kinds.persistentVolumeClaims, 'c', {spec: {resources: {requests: {storage: '2Gi'}}}});
    },
    // Everything is patched. The original's file systems in the network looked for services.
    unused: ['update  persistentvolumeclaims/status', 'update  persistentvolumes'],
  },
  {
    controller: ephemeralVolume as Controller,
    account: 'ephemeral-volume-controller',
    flags: {concurrentEphemeralvolumeSyncs: 5},
    play: at => at.create(kinds.pods, aPod('p', {volumes: [{name: 'v', ephemeral: {volumeClaimTemplate: {spec: aClaim('any').spec}}}]})),
    // Admission of owner references asks for it, on clusters that have that plugin.
    unused: ['update  pods/finalizers'],
  },
  {
    controller: seLinuxWarning,
    account: 'selinux-warning-controller',
    async play(at) {
      await bound(at, {hostPath: {path: '/data'}});
      for (const level of ['s0:c1', 's0:c2'])
        await at.create(
          kinds.pods,
          aPod(level.replace(':', '-'), {
            securityContext: {seLinuxOptions: {level}},
            containers: [{name: 'c', image: 'i', volumeMounts: [{name: 'v', mountPath: '/data'}]}],
            volumes: [{name: 'v', persistentVolumeClaim: {claimName: 'c'}}],
          }),
        );
    },
    unused: [],
  },
];

/** The manager's identity reads for all controllers. */
const isRead = (permission: string): boolean => /^(get|list|watch) /.test(permission);
/** Events are created, or patched, or neither. */
const isEvent = (permission: string): boolean => permission.endsWith(' events') || permission.includes('events.plat.io');

for (const {controller, account, flags, play, unused} of cases)
  test(`the role of ${controller.name} suffices, and it uses every write that the role grants`, async t => {
    const at = await withRole(t, controller, account, {}, flags);
    await play(at);
    await at.clock.drain();
    const difference = at.difference();
    t.deepEqual(difference.lacking, []);
    t.deepEqual(
      difference.unused.filter(each => !isRead(each) && !isEvent(each)),
      unused,
    );
  });
