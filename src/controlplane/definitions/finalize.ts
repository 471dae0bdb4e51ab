import {sameContent} from '#src/api/equal.js';
import {kinds, type Kind} from '#src/api/kinds/index.js';
import {messageOf} from '#src/base/message.js';
import {isTrue, setCondition} from '#src/resources/apiextensions/conditions.js';
import {cleanupFinalizer} from '#src/resources/apiextensions/customresourcedefinition.js';
import type {Condition, Definition} from '#src/resources/apiextensions/types.js';
import {requeueAfter, defineController, sameKey, settled, type Attempt, type KeyedController} from '#src/runtime/controller.js';
import {withOwnStatus, writeStatus, type Cached} from './status.js';

/** The objects of a custom resource in the server's store, whether or not they are still served. */
export interface Instances {
  /** The namespace of each object; empty for objects without one. */
  namespaces(definition: Definition): Promise<readonly string[]>;
  /** Deletes the objects of one namespace, with admission and finalizers. */
  remove(definition: Definition, namespace: string): Promise<void>;
}

const type = 'Terminating';
type TerminatingCondition = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

const pollMs = 5_000;
const removalTimeoutMs = 60_000;
/** After a conflict, which may be with this loop's own last write, no event may follow. */
const retryMs = 1_000;

const failed = (what: string, error: unknown): TerminatingCondition => ({
  type,
  status: 'True',
  reason: 'InstanceDeletionFailed',
  message: `${what}: ${messageOf(error)}`,
});

/** The result of a removal; with `error` it has to be retried. */
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
    // Finalizers may delay the removal of objects.
    for (let waited = 0; (await instances.namespaces(definition)).length > 0; waited += pollMs) {
      if (waited >= removalTimeoutMs) throw new Error('context deadline exceeded');
      await pause(pollMs);
    }
  } catch (error) {
    return {
      condition: {
        type,
        status: 'True',
        reason: 'InstanceDeletionCheck',
        message: `could not confirm zero CustomResources remaining: ${messageOf(error)}`,
      },
      error,
    };
  }
  return {condition: {type, status: 'False', reason: 'InstanceDeletionCompleted', message: 'removed all instances'}};
};

/** Built-in kinds whose names a definition may have too: their objects are stored under the same keys. */
const overlapping: readonly Kind[] = [kinds.apiServices, kinds.customResourceDefinitions] as unknown as readonly Kind[];

/**
 * A definition without the fields that change with every version, without those that this loop sets, and without its
 * spec, which the generation stands for: comparing large schemas takes long.
 */
const comparable = ({metadata, status}: Cached) => {
  const {resourceVersion: _version, managedFields: _managers, ...meta} = metadata ?? {};
  return {
    metadata: meta,
    status: {...status, conditions: (status?.conditions ?? []).filter(condition => condition.type !== type)},
  };
};

const isDeleted = ({metadata}: Cached): boolean => metadata?.deletionTimestamp !== undefined;

/** Deletes the objects of deleted definitions, then removes the finalizer of the definitions. */
export const finalizeLoop = (instances: Instances): KeyedController =>
  defineController({
    doc: 'Removes the objects of custom resources whose definitions are deleted.',
    name: 'crd_finalizer',
    // The loop's own writes do not trigger it again: failures are retried with backoff.
    watches: [
      sameKey(
        kinds.customResourceDefinitions,
        change =>
          isDeleted(change.object) &&
          (change.type === 'added' || (change.type === 'updated' && !sameContent(comparable(change.object), comparable(change.old)))),
      ),
    ],
    workers: 5,
    create({lister, writer, clock, naming}) {
      const definitions = lister(kinds.customResourceDefinitions);
      const {updateStatus} = writer(kinds.customResourceDefinitions as Kind<Definition>);
      const finalizer = cleanupFinalizer(naming);
      const overlaps = ({spec}: Definition): boolean =>
        overlapping.some(({group, plural}) => naming.group(group) === spec.group && plural === spec.names.plural);

      return async ({name}, attempt) => {
        const cached: Cached | undefined = definitions.get(name);
        if (!cached || !isDeleted(cached) || !cached.metadata?.finalizers?.includes(finalizer)) return settled;
        const marked = withOwnStatus(cached);
        setCondition(
          marked,
          {type, status: 'True', reason: 'InstanceDeletionInProgress', message: 'CustomResource deletion is in progress'},
          clock.now(),
        );
        const definition = await writeStatus({updateStatus}, marked);
        if (!definition) return requeueAfter(retryMs);
        const last = withOwnStatus(definition as Cached);
        const setTerminating = (condition: TerminatingCondition) => setCondition(last, condition, clock.now());
        if (overlaps(definition))
          setTerminating({
            type,
            status: 'False',
            reason: 'OverlappingBuiltInResource',
            message: 'instances overlap with built-in resources in storage',
          });
        else if (isTrue(definition, 'Established')) {
          const {condition, error} = await removeAll(instances, definition, attempt);
          setTerminating(condition);
          if (error !== undefined) {
            await writeStatus({updateStatus}, last);
            throw error;
          }
        } else setTerminating({type, status: 'False', reason: 'NeverEstablished', message: 'resource was never established'});
        last.metadata = {...last.metadata, finalizers: (last.metadata?.finalizers ?? []).filter(other => other !== finalizer)};
        return (await writeStatus({updateStatus}, last)) ? settled : requeueAfter(retryMs);
      };
    },
  });
