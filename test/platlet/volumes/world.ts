import type {Pod} from '#src/api/pod.js';
import {naming} from '#src/api/naming.js';
import {noLog} from '#src/base/log.js';
import {noMeter, type Meter} from '#src/base/meter.js';
import {seededRandom} from '#src/base/random.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {noPodCertificates} from '#src/platlet/pod-certificates/pod-certificates.js';
import {emptyDir} from '#src/platlet/volumes/empty-dir.js';
import {hostPath, localVolume} from '#src/platlet/volumes/host-path.js';
import {imageVolume} from '#src/platlet/volumes/image.js';
import {Payloads} from '#src/platlet/volumes/payloads.js';
import {payloadVolumes} from '#src/platlet/volumes/payload-volumes.js';
import type {VolumePlugin} from '#src/platlet/volumes/plugin.js';
import {StorageOperations} from '#src/platlet/volumes/storage-operations.js';
import {noTrustBundles} from '#src/platlet/volumes/trust-bundles.js';
import {folderHost} from '#test/platlet/host.js';
import {memoryObjects} from '#test/platlet/inputs/objects.js';
import {aPod} from '#test/platlet/pod/objects.js';
import {nodeVolumes, type TestVolumesParts} from './node-volumes.js';

type Volumes = NonNullable<NonNullable<Pod['spec']>['volumes']>;

/** A pod with one container that mounts all its volumes at `/NAME`. */
export const podWith = (volumes: Volumes, spec: Parameters<typeof aPod>[0] = {}, metadata: Pod['metadata'] = {}): Pod =>
  aPod(
    {
      serviceAccountName: 'builder',
      volumes,
      containers: [{name: 'app', volumeMounts: volumes.map(({name}) => ({name, mountPath: `/${name}`}))}],
      ...spec,
    },
    metadata,
  );

/** What projected volumes have on a node without gates. */
export const noCredentials = {bundles: noTrustBundles('agent'), certificates: noPodCertificates};

/** The volumes of a node on a temporary folder. */
export const aWorld = (fields: Partial<TestVolumesParts> = {}, host = folderHost(), meter: Meter = noMeter) => {
  const clock = new VirtualClock(Date.UTC(2026, 0, 1));
  const objects = memoryObjects();
  const events: string[] = [];
  const recorder = {normal() {}, warning: (_: object, reason: string, message: string) => void events.push(`${reason}: ${message}`)};
  const lifetime = new AbortController();
  const forgotten: string[] = [];
  const folderParts = {host, folders: host.folders, allocatableMemory: () => 2 ** 30, excludesSwap: false};
  const payloads = new Payloads({
    objects,
    tokens: {get: async (_, {audience, expirationSeconds}) => `token for ${audience} ${expirationSeconds}`},
    ...noCredentials,
    allocatable: () => ({cpu: '4', memory: '1Gi'}),
  });
  const operations = new StorageOperations(meter, clock, naming('plat'));
  const plugins: VolumePlugin[] = [
    emptyDir(folderParts),
    hostPath(host),
    imageVolume,
    localVolume({host, folders: host.folders, events: recorder, operations}),
    ...payloadVolumes({...folderParts, clock, random: seededRandom(3), payloads, operations}),
  ];
  const {volumes, folders, mounts} = nodeVolumes({
    naming: naming('plat'),
    host,
    folders: host.folders,
    clock,
    log: noLog,
    plugins,
    operations,
    objects,
    events: recorder,
    claims: {of: async () => undefined},
    tokens: {forget: uid => void forgotten.push(uid)},
    node: () => undefined,
    signal: lifetime.signal,
    ...fields,
  });
  return {
    host,
    clock,
    objects,
    events,
    forgotten,
    volumes,
    folders,
    mounts,
    mount: (pod: Pod) => volumes.mount(pod, lifetime.signal),
    at: (plugin: string, name = 'v') => host.folders.volume('u', plugin, name),
    [Symbol.dispose]() {
      lifetime.abort();
      host[Symbol.dispose]();
    },
  };
};

export const noEnvironment: ReadonlyMap<string, string> = new Map();
