// Creation and deletion of the pods of a parent, with the events that upstream records. It does not decide how many
// pods there are.

import type {Frozen} from '#src/api/key.js';
import {kinds, type Kind} from '#src/api/kinds/index.js';
import {asPrefix, dnsSubdomainProblems} from '#src/api/names.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod, PodTemplateSpec} from '#src/api/pod.js';
import {hasCause, isAlreadyExists, isNotFound, StatusError} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {Client} from '#src/client/client.js';
import {controllerRefTo, isControlledBy} from '#src/model/owners.js';
import type {EventRecorder} from '#src/runtime/events/events.js';
import type {Writer} from '#src/runtime/writer.js';
import {messageOf} from '#src/base/message.js';

/** Returns the name prefix of a parent's pods. */
export const podNamePrefix = (parent: string): string =>
  dnsSubdomainProblems(asPrefix(`${parent}-`)).length === 0 ? `${parent}-` : parent;

/** Creates a pod from a template, controlled by `parent`, with a generated name. Shares its parts with the template. */
export const podFromTemplate = (parent: Frozen<KubeObject>, kind: Kind, template: Frozen<PodTemplateSpec>, naming: Naming): Pod => {
  const {labels = {}, annotations = {}, finalizers = []} = template.metadata ?? {};
  return {
    metadata: {
      namespace: parent.metadata?.namespace ?? '',
      generateName: podNamePrefix(parent.metadata?.name ?? ''),
      labels: {...labels},
      annotations: {...annotations},
      finalizers: [...finalizers],
      ownerReferences: [controllerRefTo(parent, kind, naming)],
    },
    // The spec must be copied before it is changed; the client copies what it sends.
    spec: template.spec as Pod['spec'] & object,
  };
};

/** Creates and deletes pods of parents of one kind, and records events on the parent. */
export interface PodControl {
  /**
   * `generateName` replaces the default prefix. Resolves also if the pod of that name is one that an earlier attempt
   * created. Rejects as the server does; a template without labels is refused.
   */
  create(parent: Frozen<KubeObject>, template: Frozen<PodTemplateSpec>, how: NewPodName): Promise<Pod>;
  /** Deletes this pod. Rejects with `NotFound`, without an event, if it is gone. */
  delete(parent: Frozen<KubeObject>, pod: Frozen<Pod>): Promise<void>;
}

export interface NewPodName {
  readonly name: string;
  readonly generateName?: string | undefined;
}

export interface PodControlContext {
  readonly client: Client;
  writer<T extends KubeObject>(kind: Kind<T>): Writer<T>;
  readonly events: EventRecorder;
  readonly naming: Naming;
}

/**
 * Returns a refusal with the prefix in place of the name, which the next attempt does not have: repeated events are
 * counted as one.
 */
const withoutName = (error: unknown, name: string, prefix: string): unknown => {
  if (!(error instanceof StatusError) || !error.message.includes(name)) return error;
  return new StatusError({...error.status, message: error.message.replaceAll(name, prefix)}, {cause: error});
};

/** `check` is called before each creation and throws to prevent it. */
export const podControl = (kind: Kind, {client, writer, events, naming}: PodControlContext, check: () => void = () => {}): PodControl => {
  const pods = writer(kinds.pods);

  /** Returns the parent's pod of a name that is taken. Throws the error if it is not the parent's. */
  const createdBefore = async (parent: Frozen<KubeObject>, {metadata: {name, namespace} = {}}: Pod, error: unknown): Promise<Pod> => {
    // By a list, since the role allows no other read.
    const {items} = await client.resource(kinds.pods).list({namespace: namespace!, fieldSelector: `metadata.name=${name}`});
    const found = items.find(pod => isControlledBy(pod, parent));
    if (!found) throw error;
    return found;
  };

  return {
    async create(parent, template, {name, generateName = podNamePrefix(parent.metadata?.name ?? '')}) {
      const pod = podFromTemplate(parent, kind, template, naming);
      if (Object.keys(pod.metadata!.labels!).length === 0) throw new Error('unable to create pods, no labels');
      Object.assign(pod.metadata!, {name, generateName});
      try {
        check();
        const created = await pods.create(pod).catch((error: unknown) => {
          if (isAlreadyExists(error)) return createdBefore(parent, pod, error);
          throw error;
        });
        events.normal(parent, 'SuccessfulCreate', `Created pod: ${created.metadata?.name}`);
        return created;
      } catch (refusal) {
        const error = withoutName(refusal, name, generateName);
        // In a terminating namespace every creation fails, and an event would too.
        if (!hasCause(error, 'NamespaceTerminating')) events.warning(parent, 'FailedCreate', `Error creating: ${messageOf(error)}`);
        throw error;
      }
    },
    async delete(parent, pod) {
      try {
        await pods.delete(pod);
      } catch (error) {
        if (isNotFound(error)) throw error;
        events.warning(parent, 'FailedDelete', `Error deleting: ${messageOf(error)}`);
        throw new Error(`unable to delete pods: ${messageOf(error)}`, {cause: error});
      }
      events.normal(parent, 'SuccessfulDelete', `Deleted pod: ${pod.metadata?.name}`);
    },
  };
};
