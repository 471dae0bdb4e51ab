import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Pod, Volume} from '#src/api/pod.js';
import {kinds} from '#src/api/kinds/index.js';
import {isForbidden, isNotFound} from '#src/api/status.js';
import type {ConfigMap, Secret} from '#src/api/types.js';
import type {Client} from '#src/client/client.js';
import type {Missing} from './record.js';
import {specContainers} from '#src/model/pod/spec-containers.js';
import {usesSubPathExpr, containerSubPathError} from './subpaths.js';

interface Reference {
  readonly kind: 'configmap' | 'secret';
  readonly name: string;
  /** Keys that must exist; empty if all keys are used. */
  readonly keys: readonly string[];
}

type OptionalReference =
  | {readonly name?: string; readonly optional?: boolean; readonly items?: readonly {readonly key: string}[]}
  | undefined;

const reference = (kind: Reference['kind'], reference: OptionalReference, name = reference?.name): Reference[] =>
  reference && name && !reference.optional ? [{kind, name, keys: (reference.items ?? []).map(({key}) => key)}] : [];

const ofVolume = ({configMap, secret, projected}: Frozen<Volume>): Reference[] => [
  ...reference('configmap', configMap),
  ...reference('secret', secret, secret?.secretName),
  ...(projected?.sources ?? []).flatMap(source => [...reference('configmap', source.configMap), ...reference('secret', source.secret)]),
];

const ofContainer = ({env = [], envFrom = []}: Frozen<AnyContainer>): Reference[] => [
  ...envFrom.flatMap(({configMapRef, secretRef}) => [...reference('configmap', configMapRef), ...reference('secret', secretRef)]),
  ...env.flatMap(({valueFrom}) => {
    const key = (kind: Reference['kind'], of: {readonly key: string; readonly name?: string; readonly optional?: boolean} | undefined) =>
      of ? reference(kind, {...of, items: [of]}) : [];
    return [...key('configmap', valueFrom?.configMapKeyRef), ...key('secret', valueFrom?.secretKeyRef)];
  }),
];

/** Whether a volume is the service account volume of every pod. */
const isAccessVolume = ({projected}: Frozen<Volume>): boolean =>
  projected?.sources?.some(({serviceAccountToken}) => serviceAccountToken) ?? false;

interface PodReferences {
  readonly volumes: readonly {readonly name: string; readonly references: readonly Reference[]}[];
  readonly containers: readonly {
    readonly name: string;
    readonly references: readonly Reference[];
    readonly container: Frozen<AnyContainer>;
  }[];
}

const known = new WeakMap<object, PodReferences | undefined>();

/** Returns everything that the volumes, environments and mounts of a pod refer to; undefined if there is nothing. */
const podReferencesOf = ({spec}: Frozen<Pod>): PodReferences | undefined => {
  if (known.has(spec!)) return known.get(spec!);
  const volumes = (spec?.volumes ?? [])
    .filter(volume => !isAccessVolume(volume))
    .map(volume => ({name: volume.name, references: ofVolume(volume)}));
  const containers = [...specContainers(spec!)].map(({container}) => ({
    name: container.name,
    references: ofContainer(container),
    container,
  }));
  const isAny =
    [...volumes, ...containers].some(({references}) => references.length > 0) ||
    containers.some(({container}) => usesSubPathExpr(container));
  const podReferences = isAny ? {volumes, containers} : undefined;
  known.set(spec!, podReferences);
  return podReferences;
};

/** Whether a pod refers to objects that may be missing. */
export const hasReferences = (pod: Frozen<Pod>): boolean => podReferencesOf(pod) !== undefined;

const titles = {configmap: 'ConfigMap', secret: 'Secret'} as const;

/** The delay before missing references are checked again. */
const retryMs = 5_000;

/** Checks the references of a pod, with the node's client. */
export const findMissing = async (client: Client, pod: Frozen<Pod>, now: number): Promise<Missing> => {
  const {namespace = ''} = pod.metadata ?? {};
  const seen = new Map<string, Promise<ReadonlySet<string> | undefined>>();
  const keysOf = ({kind, name}: Reference): Promise<ReadonlySet<string> | undefined> => {
    const id = `${kind}/${name}`;
    const found = seen.get(id);
    if (found) return found;
    const object =
      kind === 'secret'
        ? client.resource<Secret>(kinds.secrets).get(name, {namespace})
        : client.resource<ConfigMap>(kinds.configMaps).get(name, {namespace});
    const keys = object.then(
      object => new Set([...Object.keys(object.data ?? {}), ...('binaryData' in object ? Object.keys(object.binaryData ?? {}) : [])]),
      (error: unknown) => {
        if (isNotFound(error) || isForbidden(error)) return undefined;
        throw error;
      },
    );
    seen.set(id, keys);
    return keys;
  };
  const missingMessage = async (
    references: readonly Reference[],
    missingKeyMessage: (reference: Reference, key: string) => string,
  ): Promise<string | undefined> => {
    for (const reference of references) {
      const keys = await keysOf(reference);
      if (!keys) return `${reference.kind} ${JSON.stringify(reference.name)} not found`;
      const lacking = reference.keys.find(key => !keys.has(key));
      if (lacking !== undefined) return missingKeyMessage(reference, lacking);
    }
    return undefined;
  };

  const {volumes = [], containers = []} = podReferencesOf(pod) ?? {};
  const retryAt = now + retryMs;
  const configs = new Map<string, string>();
  for (const {name, references} of volumes) {
    const why = await missingMessage(
      references,
      ({kind}, key) => `references non-existent ${kind === 'secret' ? 'secret' : 'config'} key: ${key}`,
    );
    if (why) return {mount: {volume: name, why}, configs, containers: containers.length, retryAt};
  }
  for (const {name, references, container} of containers) {
    const lacking = await missingMessage(
      references,
      (reference, key) => `couldn't find key ${key} in ${titles[reference.kind]} ${namespace}/${reference.name}`,
    );
    const why = lacking ?? containerSubPathError(pod, container);
    if (why) configs.set(name, why);
  }
  return {configs, containers: containers.length, retryAt};
};
