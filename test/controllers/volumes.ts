import test from 'ava';
import {binder} from '#controllers/persistentvolume-binder/reconcile.js';
import type {BinderOptions} from '#controllers/persistentvolume-binder/options.js';
import {parseKey, type Frozen} from '#src/api/key.js';
import {apiVersionOf, kinds, type Kind} from '#src/api/kinds/index.js';
import {naming as namingOf} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';
import {settled, type Loop, type Reconcile} from '#src/runtime/controller.js';
import {classAnnotation, volumeAnnotations, type Claim, type StorageClass, type Volume} from '#src/model/volumes.js';
import {startServer} from '#test/fixtures/server.js';
import {attempt, contextOver} from './context.js';

const naming = namingOf('plat');
const keys = volumeAnnotations(naming);

/** The defaults of the flags. */
export const binderOptions: BinderOptions = {
  pvclaimbinderSyncPeriod: 15_000,
  enableDynamicProvisioning: true,
  enableHostpathProvisioner: false,
  flexVolumePluginDir: '/none',
  pvRecyclerPodTemplateFilepathHostpath: '',
  pvRecyclerMinimumTimeoutHostpath: 60,
  pvRecyclerTimeoutIncrementHostpath: 30,
  pvRecyclerPodTemplateFilepathNfs: '',
  pvRecyclerMinimumTimeoutNfs: 300,
  pvRecyclerIncrementTimeoutNfs: 30,
};

/** What a line says after name, size and phase: `word`, or `word=value`. */
const wordsOf = (line: string) => {
  const [name = '', size = '', phase = '', ...rest] = line.split(' ');
  const words = new Map<string, string | undefined>(
    rest.map(word => {
      const [key = '', value] = word.split('=');
      return [key, value];
    }),
  );
  return {name, size, phase, words};
};

const marks = (words: ReadonlyMap<string, string | undefined>, known: Readonly<Record<string, string>>) => ({
  annotations: Object.fromEntries([...words].flatMap(([word, value]) => (known[word] ? [[known[word], value ?? 'yes']] : []))),
});
const volumeMarks = {
  ctl: keys.boundByController,
  by: keys.provisionedBy,
  resized: keys.preResizeCapacity,
  class0: classAnnotation(naming),
  migrated: keys.migratedTo,
};
const claimMarks = {
  ctl: keys.boundByController,
  done: keys.bindCompleted,
  node: keys.selectedNode,
  class0: classAnnotation(naming),
  by: keys.provisioner,
};

/** Returns a claim from a line such as `c 1Gi Bound volume=v ctl done`. */
const claimFrom = (line: string, namespace: string): Claim => {
  const {name, size, phase, words} = wordsOf(line);
  const [volume, storageClass, mode, selects, modes, attributes] = ['volume', 'class', 'mode', 'selects', 'modes', 'attributes'].map(word =>
    words.get(word),
  );
  return {
    metadata: {namespace, name, ...marks(words, claimMarks)},
    spec: {
      accessModes: modes?.split(',') ?? ['ReadWriteOnce'],
      resources: {requests: {storage: size}},
      ...(volume ? {volumeName: `${namespace}-${volume}`} : {}),
      ...(words.has('class') ? {storageClassName: storageClass ?? ''} : {}),
      ...(mode ? {volumeMode: mode} : {}),
      ...(selects ? {selector: {matchLabels: {kind: selects}}} : {}),
      ...(attributes ? {volumeAttributesClassName: attributes} : {}),
    },
    status: {phase, ...(words.has('capacity') ? {capacity: {storage: words.get('capacity')!}} : {})},
  };
};

/**
 * Returns a volume from a line such as `v 1Gi Bound claim=c ctl`; `claim=c:other` refers to another claim of the name,
 * `claim=c:` to any.
 */
const volumeFrom = (line: string, namespace: string, uids: ReadonlyMap<string, string>): Volume => {
  const {name, size, phase, words} = wordsOf(line);
  const [claim, policy, storageClass, mode, labelled, modes, attributes, source] = [
    'claim',
    'policy',
    'class',
    'mode',
    'labelled',
    'modes',
    'attributes',
    'source',
  ].map(word => words.get(word));
  const [claimName = '', uid] = claim?.split(':') ?? [];
  const known = uid === undefined ? uids.get(claimName) : uid;
  return {
    metadata: {
      name: `${namespace}-${name}`,
      ...marks(words, volumeMarks),
      ...(labelled ? {labels: {kind: labelled}} : {}),
      ...(words.has('held') ? {finalizers: ['example.com/held']} : {}),
    },
    spec: {
      accessModes: modes?.split(',') ?? ['ReadWriteOnce'],
      capacity: {storage: size},
      persistentVolumeReclaimPolicy: policy ?? 'Retain',
      ...(claim
        ? {claimRef: {apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name: claimName, ...(known ? {uid: known} : {})}}
        : {}),
      ...(storageClass ? {storageClassName: storageClass} : {}),
      ...(mode ? {volumeMode: mode} : {}),
      ...(attributes ? {volumeAttributesClassName: attributes} : {}),
      ...(source === 'simulated'
        ? {flexVolume: {driver: naming.key('simulated'), ...(words.has('fails') ? {options: {deleteError: 'no', recycleError: 'no'}} : {})}}
        : source === 'nfs'
          ? {nfs: {server: 'files.example.com', path: '/'}}
          : source === 'csi'
            ? {csi: {driver: 'disk.example.com', volumeHandle: name}}
            : {hostPath: {path: '/data'}}),
    },
    status: {phase},
  } as Volume;
};

const said = (annotations: Readonly<Record<string, string>> = {}, known: Readonly<Record<string, string>>): string[] =>
  Object.entries(known).flatMap(([word, key]) =>
    annotations[key] === undefined ? [] : annotations[key] === 'yes' ? [word] : [`${word}=${annotations[key]}`],
  );

/** The words of a line that are results: what the binder changes. */
const claimLine = ({metadata, spec, status}: Claim, namespace: string): string =>
  [
    metadata?.name,
    status?.phase,
    ...(spec?.volumeName ? [`volume=${spec.volumeName.replace(`${namespace}-`, '')}`] : []),
    ...(status?.capacity ? [`capacity=${status.capacity['storage']}`] : []),
    ...(spec?.storageClassName ? [`class=${spec.storageClassName}`] : []),
    ...said(metadata?.annotations, claimMarks),
  ].join(' ');

const volumeLine = ({metadata, spec, status}: Volume, namespace: string, uids: ReadonlyMap<string, string>): string => {
  const [claim] = [...uids].find(([, uid]) => metadata?.name === `pvc-${uid}`) ?? [];
  const reference = spec?.claimRef;
  const uid = !reference?.uid ? ':' : reference.uid === uids.get(reference.name ?? '') ? '' : `:${reference.uid}`;
  return [
    claim ? `pvc-${claim}` : metadata?.name?.replace(`${namespace}-`, ''),
    status?.phase,
    ...(reference ? [`claim=${reference.name}${uid}`] : []),
    ...said(metadata?.annotations, volumeMarks),
    ...(metadata?.finalizers ?? []).map(finalizer => `finalizer=${finalizer}`),
  ].join(' ');
};

export interface BinderCase {
  readonly title: string;
  readonly volumes?: readonly string[];
  readonly claims?: readonly string[];
  /** What is synced: the key of a claim, or the name of a volume with `pv `; by default the claim `c`. */
  readonly sync?: string;
  readonly end: readonly string[];
  readonly events?: readonly string[];
  /** The error of the sync. */
  readonly failure?: string;
  readonly classes?: readonly StorageClass[];
  readonly others?: readonly KubeObject[];
  readonly options?: Partial<BinderOptions>;
  /** How often it is synced, half a minute apart. */
  readonly times?: number;
}

/** Plays cases on one server: each in a namespace of its own, with caches of its own objects alone. */
const binderBench = () => {
  const server = startServer();
  const {clock} = server;
  const client = server.clientOf('admin');
  let count = 0;
  const made = async <T extends KubeObject & {status?: unknown}>(kind: Kind<T>, object: T): Promise<T> => {
    const {status, ...rest} = object;
    const created = await client.resource(kind).create(rest as T);
    const full = status ? await client.resource(kind).update({...created, status}, {subresource: 'status'}) : created;
    return {apiVersion: apiVersionOf(naming, kind), kind: kind.kind, ...full};
  };

  const play = async ({volumes = [], claims = [], sync = 'c', classes = [], others = [], options = {}, times = 1}: BinderCase) => {
    const namespace = `case-${++count}`;
    const cached: Frozen<KubeObject>[] = [];
    const uids = new Map<string, string>();
    for (const line of claims) {
      const claim = await made(kinds.persistentVolumeClaims, claimFrom(line, namespace));
      uids.set(claim.metadata!.name!, claim.metadata!.uid!);
      cached.push(claim);
    }
    for (const line of volumes) {
      const volume = await made(kinds.persistentVolumes, volumeFrom(line, namespace, uids));
      if (line.includes(' held')) await client.resource(kinds.persistentVolumes).delete(volume.metadata!.name!);
      cached.push({...volume, ...(await client.resource(kinds.persistentVolumes).get(volume.metadata!.name!)), kind: 'PersistentVolume'});
    }
    cached.push(
      ...classes.map(each => ({...each, kind: 'StorageClass'})),
      ...others.map(each => ({...each, metadata: {namespace, ...each.metadata}})),
    );
    const events: string[] = [];
    const plain = (text: string) =>
      [...uids]
        .reduce((now, [name, uid]) => now.replaceAll(uid, name), text)
        .replaceAll(`${namespace}-`, '')
        .replaceAll(namespace, 'ns');
    const record = (type: string) => (_: unknown, reason: string, message: string) =>
      void events.push(`${type} ${reason} ${plain(message)}`);
    const stop = new AbortController();
    const context = {
      ...contextOver({client: () => client, clock, naming} as never, cached, {...binderOptions, ...options}, stop.signal),
      events: {normal: record('Normal'), warning: record('Warning')},
    };
    const loops = await binder(context);
    const [loop, key] = sync.startsWith('pv ')
      ? ['volumes', parseKey(`${namespace}-${sync.slice(3)}`)]
      : ['claims', {namespace, name: sync}];
    let failure: string | undefined;
    for (let time = 0; time < times; time++) {
      if (time > 0) await clock.advance(30_000);
      await (loops[loop as string] as Exclude<Loop | Reconcile, Loop>)(key as never, attempt).catch((error: unknown) => {
        failure = plain((error as Error).message);
        return settled;
      });
      await clock.drain();
    }
    stop.abort();
    const foundClaims = (await client.resource(kinds.persistentVolumeClaims).list({namespace})).items;
    const foundVolumes = (await client.resource(kinds.persistentVolumes).list()).items.filter(
      ({metadata, spec}) => metadata?.name?.startsWith(`${namespace}-`) || spec?.claimRef?.namespace === namespace,
    );
    return {
      state: [...foundVolumes.map(volume => volumeLine(volume, namespace, uids)), ...foundClaims.map(claim => claimLine(claim, namespace))],
      events,
      failure,
    };
  };
  return {play, client, clock, server};
};

/** Declares a test for each case. */
export const testBinder = (cases: readonly BinderCase[]): void => {
  const bench = binderBench();
  for (const one of cases)
    test(one.title, async t => {
      const {state, events, failure} = await bench.play(one);
      t.deepEqual(state, one.end);
      t.deepEqual(events, one.events ?? []);
      t.is(failure, one.failure);
    });
};

/** The Event of a claim without a class that no volume matches. */
export const noVolume = 'Normal FailedBinding no persistent volumes available for this claim and no storage class is set';
