import {sameContent} from '#src/api/equal.js';
import {kinds, type Kind} from '#src/api/kinds.js';
import {messageOf} from '#src/base/message.js';
import {isTrue, setCondition} from '#src/resources/apiextensions/conditions.js';
import {cleanupFinalizer} from '#src/resources/apiextensions/customresourcedefinition.js';
import type {Condition, Definition} from '#src/resources/apiextensions/types.js';
import {requeueAfter, defineController, sameKey, settled, type Attempt, type KeyedController} from '#src/runtime/controller.js';
import {withOwnStatus, writeStatus, type Cached} from './status.js';

/** The objects of a custom resource, as the server that serves them reaches them, whether or not they are still served. */
export interface Instances {
  /** The namespaces in which there are objects, once for each object; empty for objects without. */
  namespaces(definition: Definition): Promise<readonly string[]>;
  /** Deletes the objects of one namespace, through admission and with all that holds them. */
  remove(definition: Definition, namespace: string): Promise<void>;
}

const type = 'Terminating';
type TerminatingCondition = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

const pollMs = 5_000;
const removalTimeoutMs = 60_000;
/** Somebody was faster, perhaps this loop itself a moment ago: then no change tells of it. */
const retryMs = 1_000;

const failed = (what: string, error: unknown): TerminatingCondition => ({type, status: 'True', reason: 'InstanceDeletionFailed', message: `${what}: ${messageOf(error)}`});

/** How a removal ended; with `error` it has to be tried again. */
interface Removal {
  readonly condition: TerminatingCondition;
  readonly error?: unknown;
}

const removeAll = async (instances: Instances, definition: Definition, {pause}: Attempt): Promise<Removal> => {
  let namespaces: readonly string[];
  try {
    namespaces = await instances.namespaces(definition);
  } catch (error) {
    return {condition: failed('could not list instances', error), error};
  }
  const errors: unknown[] = [];
  for (const namespace of new Set(namespaces)) await instances.remove(definition, namespace).catch((error: unknown) => errors.push(error));
  if (errors.length > 0) {
    const texts = [...new Set(errors.map(messageOf))];
    const error = new Error(texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`, {cause: errors[0]});
    return {condition: failed('could not issue all deletes', error), error};
  }
  try {
    // Finalizers of others may hold objects for a while.
    for (let waited = 0; (await instances.namespaces(definition)).length > 0; waited += pollMs) {
      if (waited >= removalTimeoutMs) throw new Error('context deadline exceeded');
      await pause(pollMs);
    }
  } catch (error) {
    return {condition: {type, status: 'True', reason: 'InstanceDeletionCheck', message: `could not confirm zero CustomResources remaining: ${messageOf(error)}`}, error};
  }
  return {condition: {type, status: 'False', reason: 'InstanceDeletionCompleted', message: 'removed all instances'}};
};

/** Kinds of this server's own that a definition can name as well: their objects lie where its own would. */
const overlapping: readonly Kind[] = [kinds.apiServices, kinds.customResourceDefinitions] as unknown as readonly Kind[];

/** A definition without what changes with every version and without what this loop says of it. */
const apart = ({metadata, status, ...rest}: Cached) => {
  const {resourceVersion: _version, managedFields: _managers, ...meta} = metadata ?? {};
  return {...rest, metadata: meta, status: {...status, conditions: (status?.conditions ?? []).filter(condition => condition.type !== type)}};
};

const isLeaving = ({metadata}: Cached): boolean => metadata?.deletionTimestamp !== undefined;

/** Removes the objects of definitions that are deleted, then lets the definitions go. */
export const finalizeLoop = (instances: Instances): KeyedController =>
  defineController({
    doc: 'Removes the objects of custom resources whose definitions are deleted.',
    name: 'crd_finalizer',
    // What this loop writes itself does not call for it again: failures are tried again at growing intervals.
    watches: [sameKey(kinds.customResourceDefinitions, change => isLeaving(change.object) && (change.type === 'added' || (change.type === 'updated' && !sameContent(apart(change.object), apart(change.old)))))],
    workers: 5,
    create({lister, writer, clock, naming}) {
      const definitions = lister(kinds.customResourceDefinitions);
      const {updateStatus} = writer(kinds.customResourceDefinitions as Kind<Definition>);
      const finalizer = cleanupFinalizer(naming);
      const overlaps = ({spec}: Definition): boolean => overlapping.some(({group, plural}) => naming.group(group) === spec.group && plural === spec.names.plural);

      return async ({name}, attempt) => {
        const cached: Cached | undefined = definitions.get(name);
        if (!cached || !isLeaving(cached) || !cached.metadata?.finalizers?.includes(finalizer)) return settled;
        const marked = withOwnStatus(cached);
        setCondition(marked, {type, status: 'True', reason: 'InstanceDeletionInProgress', message: 'CustomResource deletion is in progress'}, clock.now());
        const definition = await writeStatus({updateStatus}, marked);
        if (!definition) return requeueAfter(retryMs);
        const last = withOwnStatus(definition as Cached);
        const say = (condition: TerminatingCondition) => setCondition(last, condition, clock.now());
        if (overlaps(definition)) say({type, status: 'False', reason: 'OverlappingBuiltInResource', message: 'instances overlap with built-in resources in storage'});
        else if (isTrue(definition, 'Established')) {
          const {condition, error} = await removeAll(instances, definition, attempt);
          say(condition);
          if (error !== undefined) {
            await writeStatus({updateStatus}, last);
            throw error;
          }
        } else say({type, status: 'False', reason: 'NeverEstablished', message: 'resource was never established'});
        last.metadata = {...last.metadata, finalizers: (last.metadata?.finalizers ?? []).filter(other => other !== finalizer)};
        return (await writeStatus({updateStatus}, last)) ? settled : requeueAfter(retryMs);
      };
    },
  });
