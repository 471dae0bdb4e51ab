import {sameContent} from '#src/api/equal.js';
import {kinds, type Kind} from '#src/api/kinds/index.js';
import {damagedRecordCause, hasCause, isAlreadyExists, isConflict, isNotFound} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {runEvery, sleep, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Client} from '#src/client/client.js';
import {autoupdateKey, mandatoryObjects, suggestedObjects, type PriorityLevel} from '#src/resources/flowcontrol/bootstrap.js';
import {ignoring} from './ignoring.js';

const fieldManager = 'api-priority-and-fairness-config-producer-v1';
const periodMs = 60_000;
const retryMs = 1000;
const startTimeoutMs = 300_000;

interface Specified extends KubeObject {
  spec?: unknown;
}

/** The existing objects of one kind, and their comparison with the desired ones. */
interface ObjectSet<T extends Specified> {
  readonly kind: Kind<T>;
  readonly found: ReadonlyMap<string, T>;
  isEqual(found: T, wanted: T): boolean;
}

const flags: ReadonlyMap<string | undefined, boolean> = new Map([
  ...['1', 't', 'T', 'TRUE', 'true', 'True'].map(text => [text, true] as const),
  ...['0', 'f', 'F', 'FALSE', 'false', 'False'].map(text => [text, false] as const),
]);

/** Whether the server manages the spec of an object by its annotation; undefined without a valid one. */
const annotatedAsManaged = (client: Client, {metadata}: KubeObject): boolean | undefined =>
  flags.get(metadata?.annotations?.[autoupdateKey(client.naming)]);

/**
 * Creates a missing object, restores the spec of one that the server manages, and records on each whether it is
 * managed: users take it over by changing it.
 */
const reconcileObject = async <T extends Specified>(
  client: Client,
  {kind, found, isEqual}: ObjectSet<T>,
  wanted: T,
  isMandatory: boolean,
): Promise<void> => {
  const objects = client.resource(kind);
  const current = found.get(wanted.metadata!.name!);
  if (!current) {
    // Another server may have created it meanwhile; the next pass handles it.
    return void (await objects.create(wanted, {fieldManager}).catch(ignoring(isAlreadyExists)));
  }
  const annotated = annotatedAsManaged(client, current);
  const isManaged = isMandatory || (annotated ?? current.metadata?.generation === 1);
  const differs = isManaged && !isEqual(current, wanted);
  if (annotated === isManaged && !differs) return;
  const metadata =
    annotated === isManaged
      ? current.metadata
      : {...current.metadata, annotations: {...current.metadata?.annotations, [autoupdateKey(client.naming)]: String(isManaged)}};
  await objects
    .update({...current, metadata, ...(differs ? {spec: wanted.spec} : {})}, {fieldManager})
    .catch(ignoring(error => isConflict(error) || isNotFound(error)));
};

/** Deletes objects that an earlier release suggested and this one does not, if the server manages them. */
const removeObsolete = async <T extends Specified>(
  client: Client,
  {kind, found}: ObjectSet<T>,
  wanted: readonly KubeObject[],
): Promise<void> => {
  const names = new Set(wanted.map(({metadata}) => metadata?.name));
  for (const [name, object] of found) {
    if (names.has(name) || !annotatedAsManaged(client, object)) continue;
    const {resourceVersion = ''} = object.metadata ?? {};
    await client
      .resource(kind)
      .delete(name, {preconditions: {resourceVersion}})
      .catch(ignoring(error => isNotFound(error) || isConflict(error)));
  }
};

const objectSetOf = async <T extends Specified>(client: Client, kind: Kind<T>, isEqual: ObjectSet<T>['isEqual']): Promise<ObjectSet<T>> => {
  const {items} = await client.resource(kind).list();
  return {kind, found: new Map(items.map(object => [object.metadata!.name!, object])), isEqual: isEqual};
};

const sameSpec = ({spec}: Specified, wanted: Specified): boolean => sameContent(spec, wanted.spec);

/** The lendable share of exempt levels is left to the administrator. */
const sameLevel = (found: PriorityLevel, wanted: PriorityLevel): boolean => {
  const {exempt} = found.spec ?? {};
  return sameSpec(found, exempt && wanted.spec?.exempt ? {spec: {...wanted.spec, exempt}} : wanted);
};

/**
 * One pass over the default flow schemas and priority levels (KEP-1040): suggested ones, then mandatory ones, levels
 * before the schemas that refer to them, and then obsolete ones.
 */
export const reconcileFlowControl = async (client: Client): Promise<void> => {
  const [levels, schemas] = await Promise.all([
    objectSetOf(client, kinds.priorityLevelConfigurations, sameLevel),
    objectSetOf(client, kinds.flowSchemas, sameSpec),
  ]);
  const [suggested, mandatory] = [suggestedObjects(client.naming), mandatoryObjects(client.naming)];
  for (const [objects, isMandatory] of [
    [suggested, false],
    [mandatory, true],
  ] as const) {
    await Promise.all(objects.levels.map(level => reconcileObject(client, levels, level, isMandatory)));
    await Promise.all(objects.schemas.map(schema => reconcileObject(client, schemas, schema, isMandatory)));
  }
  await removeObsolete(client, schemas, [...suggested.schemas, ...mandatory.schemas]);
  await removeObsolete(client, levels, [...suggested.levels, ...mandatory.levels]);
};

export interface FlowControlParts {
  readonly client: Client;
  /** The current revision of the store: while it does not change there is nothing to do. */
  readonly revision?: () => Promise<number> | number;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Maintains the flow control objects, with a pass per minute. Resolves after the first successful one; rejects when
 * none succeeds for five minutes.
 */
export const maintainFlowControl = async ({client, clock, log, revision}: FlowControlParts, signal: AbortSignal): Promise<void> => {
  const deadline = clock.monotonic() + startTimeoutMs;
  const failed = (error: unknown) => log.warn({err: error}, 'the objects of flow control could not be settled');
  for (;;) {
    try {
      await reconcileFlowControl(client);
      break;
    } catch (error) {
      if (clock.monotonic() >= deadline || hasCause(error, damagedRecordCause)) throw error;
      failed(error);
      await sleep(clock, retryMs, signal);
    }
  }
  let settledAt: number | undefined;
  runEvery(clock, periodMs, signal, async () => {
    using _ = clock.hold();
    try {
      const now = await revision?.();
      if (now !== undefined && now === settledAt) return;
      await reconcileFlowControl(client);
      settledAt = now;
    } catch (error) {
      if (!signal.aborted) failed(error);
    }
  });
};
