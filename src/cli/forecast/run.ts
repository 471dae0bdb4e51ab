// Lets the time pass over a copy of the objects: a plane in memory on a virtual clock, with simulated nodes.

import {kinds, type Kind, type ObjectOf} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import {recordObject} from '#src/apiserver/registry/record.js';
import {controllerOf} from '#src/model/owners.js';
import {seededRandom} from '#src/base/random.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {startPlaneOn} from '#src/plane/plane.js';
import {resources} from '#src/resources/builtin/index.js';
import {storagePath} from '#src/resources/storage-path.js';
import type {Change, Store} from '#src/storage/store.js';
import {expiries} from './certificates.js';
import {tellings, type Happening, type ObjectChange, type TellingContext} from './happenings.js';
import {loadedUsage, sharedLoads, type Load} from './load.js';
import {serviceRange, standInsOf} from './nodes.js';
import {advanceWithRenewals, nodeCertificates} from './renewals.js';
import {recordsOf, storeKey, storeRoot, type Source} from './source.js';
import {Timeline} from './timeline.js';

type CronJob = ObjectOf<typeof kinds.cronJobs>;

export interface RunOptions {
  readonly forMs: number;
  readonly loads: readonly Load[];
  /** How long the jobs of cron jobs run. */
  readonly jobTimes: ReadonlyMap<string, number>;
  /** Files to apply at the beginning. */
  readonly apply: readonly string[];
  readonly signal: AbortSignal;
}

/** The controllers by which objects change with the time. */
const controllers = [
  'job-controller',
  'ttl-after-finished-controller',
  'deployment-controller',
  'replicaset-controller',
  'resourcequota-controller',
  'namespace-controller',
  'serviceaccount-controller',
  'pod-garbage-collector-controller',
  'garbage-collector-controller',
  'taint-eviction-controller',
  'token-cleaner-controller',
] as const;

/** Those that have nothing to do without objects of a kind. */
const controllersOf: readonly (readonly [kind: Kind, controllers: readonly string[]])[] = [
  [kinds.cronJobs, ['cronjob-controller']],
  [kinds.statefulSets, ['statefulset-controller']],
  [kinds.daemonSets, ['daemonset-controller']],
  [kinds.replicationControllers, ['replicationcontroller-controller']],
  [kinds.podDisruptionBudgets, ['disruption-controller']],
  [kinds.persistentVolumeClaims, ['persistentvolume-binder-controller']],
  [
    kinds.certificateSigningRequests,
    [
      'certificatesigningrequest-approving-controller',
      'certificatesigningrequest-signing-controller',
      'certificatesigningrequest-cleaner-controller',
    ],
  ],
];

/** Runs only with a load, as without one there is nothing to measure. */
const autoscaler = 'horizontal-pod-autoscaler-controller';

/** The controllers for some objects, and for those that files may add. */
const chosen = ({objects}: Source, {loads, apply}: RunOptions): string[] => {
  const present = new Set([...objects.values()].map(({kind}) => kind));
  const needed = controllersOf.filter(([{kind}]) => apply.length > 0 || present.has(kind)).flatMap(([, names]) => names);
  return [...controllers, ...needed, ...(loads.length > 0 ? [autoscaler] : [])];
};

/** Forecasts what happens to the objects. Rejects if the files cannot be applied. */
export const forecast = async (source: Source, options: RunOptions): Promise<Timeline> => {
  const {forMs, loads, jobTimes, apply, signal} = options;
  const clock = new VirtualClock(source.at);
  const timeline = new Timeline();
  const certificates = nodeCertificates(source);
  for (const each of expiries(source, certificates, source.at + forMs)) timeline.add(each);
  const nodes = standInsOf(source, jobTimes);
  const shared = sharedLoads(source, loads);
  const range = serviceRange(source);
  const teller = new Teller(source, happening => timeline.add(happening), clock);
  const plane = await startPlaneOn(
    {
      async fill(store) {
        for (const [key, value] of recordsOf(source)) await store.create(key, value);
        await teller.follow(store);
      },
      simulation: nodes.simulation,
      usage: own => loadedUsage(own, shared, {clock, startMs: source.at}),
    },
    {
      naming: source.naming.name,
      listen: false,
      clock,
      random: seededRandom(1),
      nodes: nodes.count,
      metricsApi: loads.length > 0,
      record: false,
      controllers: chosen(source, options),
      apiserverArgs: ['--enable-priority-and-fairness=false', ...(range ? [`--service-cluster-ip-range=${range}`] : [])],
      signal,
    },
  );
  try {
    await clock.drain(signal);
    if (apply.length > 0) await plane.apply(apply);
    const tell = (happening: Happening) => timeline.add(happening);
    await advanceWithRenewals(certificates, source.at + forMs, {clock, signal, client: user => plane.client(user), tell});
    await clock.drain(signal);
  } finally {
    await plane.stop();
  }
  return timeline;
};

/** Tells what changes of a store mean. */
class Teller {
  readonly #byPath: readonly (readonly [root: string, kind: Kind, telling: (typeof tellings)[number][1]])[];
  readonly #context: TellingContext;
  readonly #tell: (happening: Happening) => void;
  readonly #clock: VirtualClock;
  readonly #cronRoot: string;
  /** What objects with generated names are called: as many as there are pods and jobs. */
  readonly #names = new Map<string, string>();
  readonly #jobRoot: string;
  readonly #podRoot: string;
  /** The newest state of each cron job. */
  readonly #cronJobs = new Map<string, CronJob>();

  constructor(source: Source, tell: (happening: Happening) => void, clock: VirtualClock) {
    this.#tell = tell;
    this.#clock = clock;
    const rootOf = (kind: Kind): string => {
      const definition = resources.find(({kind: each}) => each.group === kind.group && each.plural === kind.plural);
      return `${storeRoot}/${definition ? storagePath(definition, source.naming) : kind.plural}/`;
    };
    this.#byPath = tellings.map(([kind, telling]) => [rootOf(kind), kind, telling]);
    this.#cronRoot = rootOf(kinds.cronJobs);
    this.#jobRoot = rootOf(kinds.jobs);
    this.#podRoot = rootOf(kinds.pods);
    this.#context = {
      naming: source.naming,
      cronJob: (namespace: string, name: string) =>
        this.#cronJobs.get(storeKey(this.#cronRoot.slice(storeRoot.length + 1, -1), {metadata: {namespace, name}})),
      named: (kind, namespace, name) =>
        this.#names.get(`${kind} ${namespace}/${name}`) ?? `${kind} ${namespace ? `${namespace}/` : ''}${name}`,
    };
    for (const [key, object] of source.objects) if (key.startsWith(this.#cronRoot)) this.#cronJobs.set(key, object as CronJob);
    for (const [key, object] of source.objects) this.#name(key, object);
  }

  /** Notes what a job of a cron job, or a pod of a controller, is called. */
  #name(key: string, object: KubeObject): void {
    const kind = key.startsWith(this.#podRoot) ? 'Pod' : key.startsWith(this.#jobRoot) ? 'Job' : undefined;
    const {namespace = '', name = ''} = object.metadata ?? {};
    const owner = kind && controllerOf(object);
    if (!kind || !owner || owner.kind === 'StatefulSet') return;
    const job = owner.kind === 'Job' ? this.#names.get(`Job ${namespace}/${owner.name}`) : undefined;
    this.#names.set(`${kind} ${namespace}/${name}`, job ? `${kind} ${job.slice('Job '.length)}` : `${kind} ${namespace}/${owner.name}-*`);
  }

  async follow(store: Store): Promise<void> {
    store.watch(
      {start: `${storeRoot}/`, end: `${storeRoot}0`, after: await store.revision()},
      {changes: batch => batch.forEach(change => this.#take(change)), ended() {}},
    );
  }

  #take({key, record, previous, revision}: Change): void {
    if (key.startsWith(this.#cronRoot)) {
      if (record) this.#cronJobs.set(key, recordObject<KubeObject>(record.value, revision) as CronJob);
      else this.#cronJobs.delete(key);
      return;
    }
    const found = this.#byPath.find(([root]) => key.startsWith(root));
    if (!found) return;
    const change: ObjectChange = {
      before: previous && recordObject<KubeObject>(previous.value, previous.revision),
      now: record && recordObject<KubeObject>(record.value, revision),
    };
    if (change.now) this.#name(key, change.now);
    for (const told of found[2](change as never, this.#context)) this.#tell({...told, at: this.#clock.now()});
  }
}
