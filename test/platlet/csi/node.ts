import {InformerFactory} from '#informers/factory.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {wellKnown} from '#src/api/user.js';
import {noLog} from '#src/base/log.js';
import {noMeter, type Meter} from '#src/base/meter.js';
import {seededRandom} from '#src/base/random.js';
import type {GateName} from '#src/options/gate-table.js';
import {nodeStorage} from '#src/platlet/agent/node-storage.js';
import {attachmentName, type CsiDriver, type CsiVolume} from '#src/platlet/csi/volume.js';
import {volumeLabels} from '#src/platlet/volumes/volume-labels.js';
import {Claims} from '#src/platlet/volumes/claims.js';
import type {PersistentVolume} from '#src/platlet/volumes/plugin.js';
import {nodeName, type AgentPlane} from '#test/platlet/agent.js';
import type {FolderHost} from '#test/platlet/host.js';
import {memoryObjects} from '#test/platlet/inputs/objects.js';
import {nodeVolumes} from '#test/platlet/volumes/node-volumes.js';
import type {FakeDriver} from './fake-driver.js';

export interface CsiNodeOptions {
  readonly gates?: readonly GateName[];
  readonly meter?: Meter;
}

/** The volumes of a node, of drivers that are registered with it. */
export const aCsiNode = async (plane: AgentPlane, host: FolderHost, {gates = [], meter = noMeter}: CsiNodeOptions = {}) => {
  const {clock, naming} = plane;
  const lifetime = new AbortController();
  const {signal} = lifetime;
  const client = plane.client({name: `${wellKnown.nodeUserPrefix}${nodeName}`, groups: [wellKnown.nodes, wellKnown.authenticated]});
  const common = {client, clock, random: seededRandom(1), log: noLog, meter, signal};
  const informers = new InformerFactory({...common, component: 'agent', minResyncMs: 0});
  const nodes = informers.informer({kind: kinds.nodes, fieldSelector: `metadata.name=${nodeName}`});
  const events: string[] = [];
  const record = (_: object, reason: string, message: string): void => void events.push(`${reason}: ${message}`);
  const recorder = {normal: record, warning: record};
  const gate = (name: GateName): boolean => gates.includes(name);
  const storage = nodeStorage(
    {
      ...common,
      naming,
      host,
      gate,
      identity: {nodeName},
      settings: {enableControllerAttachDetach: true},
      clients: {isStandalone: false, main: client},
    },
    {folders: host.folders},
    {informers, events: recorder, registered: () => nodes.lister.get(nodeName)},
    signal,
  );
  const {volumes, folders, mounts} = nodeVolumes({
    naming,
    host,
    folders: host.folders,
    clock,
    log: noLog,
    plugins: [storage.plugin],
    objects: memoryObjects(),
    labels: volumeLabels(gate, {...common, host}),
    events: recorder,
    claims: new Claims(client),
    tokens: storage.tokens,
    node: () => nodes.lister.get(nodeName),
    signal,
  });
  informers.start();
  storage.start();
  await clock.drain();
  return {
    storage,
    volumes,
    folders,
    mounts,
    events,
    begin: (pod: Pod) => volumes.mount(pod, signal),
    async mount(pod: Pod, ms = 1000): Promise<void> {
      const mounting = volumes.mount(pod, signal);
      mounting.catch(() => {});
      await clock.advance(ms);
      await mounting;
    },
    register: ({name, socket}: FakeDriver) => storage.handler.register({name, endpoint: socket, versions: ['1.0.0']}),
    /** Reports the volumes in use, as the status of a Node does. */
    async report(): Promise<void> {
      await client.resource(kinds.nodes).patch(nodeName, 'merge', {status: {volumesInUse: [...storage.inUse()!]}}, {subresource: 'status'});
      await clock.drain();
    },
    async [Symbol.asyncDispose](): Promise<void> {
      lifetime.abort();
      await clock.drain();
    },
  };
};

/** Creates a bound claim with its volume of a driver. */
export const aClaim = async (
  plane: AgentPlane,
  name: string,
  csi: NonNullable<NonNullable<PersistentVolume['spec']>['csi']>,
  spec: PersistentVolume['spec'] = {},
): Promise<void> => {
  const client = plane.client();
  const {accessModes = ['ReadWriteOnce'], volumeMode = 'Filesystem', ...rest} = spec;
  const claims = client.resource(kinds.persistentVolumeClaims);
  const claim = await claims.create({
    metadata: {name, namespace: 'default'},
    spec: {accessModes, volumeMode, resources: {requests: {storage: '1Gi'}}, volumeName: `pv-${name}`, storageClassName: ''},
  });
  await client.resource(kinds.persistentVolumes).create({
    metadata: {name: `pv-${name}`},
    spec: {
      capacity: {storage: '1Gi'},
      accessModes,
      volumeMode,
      csi,
      claimRef: {kind: 'PersistentVolumeClaim', apiVersion: 'v1', name, namespace: 'default', uid: claim.metadata!.uid!},
      ...rest,
    },
  });
  const status = {phase: 'Bound', capacity: {storage: '1Gi'}, accessModes};
  await claims.patch(name, 'merge', {status}, {namespace: 'default', subresource: 'status'});
};

/** Creates a CSIDriver. */
export const aDriverObject = async (plane: AgentPlane, name: string, spec: CsiDriver['spec'] = {}): Promise<void> => {
  await plane
    .client()
    .resource(kinds.csiDrivers)
    .create({metadata: {name}, spec: {attachRequired: false, ...spec}});
  await plane.clock.drain();
};

type Attaching = Pick<CsiVolume, 'driver' | 'handle'>;

/** Creates the object that attaches a volume, with a status. */
const createAttachment = async (plane: AgentPlane, volume: Attaching, pv: string, status: object): Promise<void> => {
  const attachments = plane.client().resource(kinds.volumeAttachments);
  const name = attachmentName(volume, nodeName);
  await attachments.create({metadata: {name}, spec: {attacher: volume.driver, nodeName, source: {persistentVolumeName: pv}}});
  await attachments.patch(name, 'merge', {status}, {subresource: 'status'});
};

/** Attaches a volume, as a controller and the driver's attacher do. */
export const attach = async (plane: AgentPlane, volume: Attaching, pv: string): Promise<void> => {
  await createAttachment(plane, volume, pv, {attached: true, attachmentMetadata: {slot: '3'}});
  const shown = {name: `${plane.naming.key('csi')}/${volume.driver}^${volume.handle}`, devicePath: ''};
  await plane
    .client()
    .resource(kinds.nodes)
    .patch(nodeName, 'merge', {status: {volumesAttached: [shown]}}, {subresource: 'status'});
  await plane.clock.drain();
};

/** Has a volume not be attached, with the code that the driver answers. */
export const failAttach = (plane: AgentPlane, volume: Attaching, pv: string, errorCode: number): Promise<void> =>
  createAttachment(plane, volume, pv, {attached: false, attachError: {message: 'no slot', time: '2026-01-01T00:00:00Z', errorCode}});

type Spec = NonNullable<Pod['spec']>;

/** Creates a pod that mounts a volume. */
export const podWith = (
  plane: AgentPlane,
  name: string,
  volume: Omit<NonNullable<Spec['volumes']>[number], 'name'>,
  spec: Partial<Spec> = {},
) =>
  plane
    .client()
    .resource<Pod>(kinds.pods)
    .create({
      metadata: {name, namespace: 'default'},
      spec: {
        nodeName,
        automountServiceAccountToken: false,
        volumes: [{name: 'data', ...volume}],
        containers: [{name: 'app', image: 'app', volumeMounts: [{name: 'data', mountPath: '/data'}]}],
        ...spec,
      },
    });

/** Creates a pod that mounts a claim. */
export const podWithClaim = (plane: AgentPlane, name: string, claim: string, spec: Partial<Spec> = {}): Promise<Pod> =>
  podWith(plane, name, {persistentVolumeClaim: {claimName: claim}}, spec);
