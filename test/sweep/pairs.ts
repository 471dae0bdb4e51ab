import {sleep, systemClock as clock} from '#src/base/clock.js';
import {noLog} from '#src/base/log.js';
import type {KubeObject} from '#src/api/types.js';
import type {Naming} from '#src/api/naming.js';
import {schemaOf} from '#src/apiserver/request/body.js';
import {startPlane} from '#src/plane/plane.js';
import {wire} from '#test/apiserver/wire.js';
import {bodyWith} from './bodies.js';
import {collectionsOf, pathText, type Collection} from './fields.js';
import {LoopWatch} from './holds.js';
import {Target} from './requests.js';

/**
 * Kinds whose objects the scheduler, a controller, a simulated node or an admission plugin compares with each other.
 */
const compared: readonly (readonly [string, string])[] = [
  ['Node', 'Pod'],
  ['Node', 'DaemonSet'],
  ['Node', 'PersistentVolume'],
  ['Node', 'ResourceSlice'],
  ['Pod', 'Pod'],
  ['Pod', 'Service'],
  ['Pod', 'PodDisruptionBudget'],
  ['Pod', 'ReplicaSet'],
  ['Pod', 'ResourceQuota'],
  ['Pod', 'LimitRange'],
  ['Pod', 'RuntimeClass'],
  ['Pod', 'PersistentVolumeClaim'],
  ['Pod', 'ResourceClaim'],
  ['PersistentVolume', 'PersistentVolumeClaim'],
  ['PersistentVolumeClaim', 'StorageClass'],
  ['Service', 'EndpointSlice'],
  ['Service', 'Endpoints'],
  ['ResourceSlice', 'ResourceClaim'],
  ['ResourceSlice', 'DeviceTaintRule'],
  ['ClusterRole', 'ClusterRole'],
  ['Role', 'RoleBinding'],
  ['StatefulSet', 'ControllerRevision'],
  ['CronJob', 'Job'],
];

/** A whole plane over the memory store, with the scheduler, all controllers and a simulated node. */
export const startPairs = async () => {
  const plane = await startPlane({
    listen: false,
    nodes: 1,
    log: noLog,
    naming: 'kubernetes',
    apiserverArgs: ['--runtime-config=api/all=true'],
  });
  const {api, naming} = plane;
  const server = {naming: naming as Naming, registry: api.server.registry, handler: api.handler, ...wire(api.handler)};
  return {...server, [Symbol.asyncDispose]: () => plane.stop()};
};

export type PairServer = Awaited<ReturnType<typeof startPairs>>;

/** A list or map of a kind, of two kinds that are compared. */
export interface Side {
  readonly target: Target;
  readonly collection: Collection;
}

/** Returns every list or map of one kind with every one of the other, of all kinds that are compared. */
export function* pairsOf(server: PairServer): Generator<readonly [Side, Side]> {
  const sidesOf = (kind: string): Side[] => {
    const served = server.registry.served.find(one => one.kind.kind === kind);
    if (!served) return [];
    const target = new Target(server as never, served);
    return [...collectionsOf(schemaOf(served.resource.settings.schemas, served.kind))].map(collection => ({target, collection}));
  };
  for (const [one, other] of compared) {
    const others = sidesOf(other);
    for (const a of sidesOf(one)) for (const b of others) yield [a, b];
  }
}

/** The longest turn of the event loop while both objects were there, with their long lists. */
export interface PairFinding {
  readonly label: string;
  readonly longestMs: number;
}

/** Values of fields whose types do not name them. */
const valid: Readonly<Record<string, string>> = {effect: 'NoExecute', protocol: 'TCP'};

/** Returns a valid name for the object, and its list filled; undefined if the filling does not apply. */
const bodyOf = ({target: {served, sample}, collection}: Side, name: string, bytes: number): Buffer | undefined => {
  const named = {...sample, metadata: {...sample.metadata, name}} as KubeObject;
  const body = bodyWith(named, schemaOf(served.resource.settings.schemas, served.kind), collection, 'different', bytes);
  const text =
    body && JSON.stringify(body, (key, value: unknown) => (typeof value === 'string' && Object.hasOwn(valid, key) ? valid[key] : value));
  return text === undefined ? undefined : Buffer.from(text);
};

const known = new Map<string, boolean>();

/** Whether an object with the list filled is valid. Most are not. */
const isValid = async (server: PairServer, side: Side, bytes: number): Promise<boolean> => {
  const label = labelOf(side);
  let isKnown = known.get(label);
  if (isKnown === undefined) {
    const body = bodyOf(side, 'probe', bytes);
    const answer = body && (await server.send('POST', `${side.target.collection}?dryRun=All`, {body}));
    known.set(label, (isKnown = answer !== undefined && answer.status < 300));
  }
  return isKnown;
};

const labelOf = ({target, collection}: Side): string => `${target.label} ${pathText(collection.path)}`;

/** How long the plane has for what it does after a write, in ms. */
const settlingMs = 300;

/** Creates both objects, their lists filled with the same elements. Undefined if one is not valid so. */
export const comparePair = async (server: PairServer, sides: readonly [Side, Side], bytes: number): Promise<PairFinding | undefined> => {
  for (const side of sides) if (!(await isValid(server, side, bytes))) return undefined;
  const made: string[] = [];
  const watch = new LoopWatch();
  try {
    for (const [index, side] of sides.entries()) {
      const {target, collection} = side;
      const name = `pair-${index}`;
      const sent = bodyOf(side, name, bytes)!;
      if (index === 1) watch.start();
      if ((await server.send('POST', target.collection, {body: sent})).status >= 300) return undefined;
      made.push(`${target.collection}/${name}`);
      const [first] = collection.path;
      if (typeof first === 'object' && first.field === 'status') await server.send('PUT', `${made.at(-1)!}/status`, {body: sent});
    }
    await sleep(clock, settlingMs);
    return {label: `${labelOf(sides[0])} × ${labelOf(sides[1])}`, longestMs: watch.stop().ms};
  } finally {
    watch.stop();
    for (const item of made) {
      await server.remove(`${item}?gracePeriodSeconds=0`);
      await server.patch(item, {metadata: {finalizers: null}});
    }
  }
};
