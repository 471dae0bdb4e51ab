import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Pod, Volume} from '#src/api/pod.js';
import {kinds} from '#src/api/kinds.js';
import {isForbidden, isNotFound} from '#src/api/status.js';
import type {ConfigMap, Secret} from '#src/api/types.js';
import type {Client} from '#src/client/client.js';
import {specContainers, type Missing} from './record.js';
import {namesSubPaths, subPathFault} from './subpaths.js';

interface Reference {
  readonly kind: 'configmap' | 'secret';
  readonly name: string;
  /** Keys that must be in it; none where all that is in it is taken. */
  readonly keys: readonly string[];
}

type Wanted = {readonly name?: string; readonly optional?: boolean; readonly items?: readonly {readonly key: string}[]} | undefined;

const reference = (kind: Reference['kind'], wanted: Wanted, name = wanted?.name): Reference[] =>
  wanted && name && !wanted.optional ? [{kind, name, keys: (wanted.items ?? []).map(({key}) => key)}] : [];

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

/** Whether a volume is the one with which every pod reaches the server: what is in it comes by itself. */
const isAccessVolume = ({projected}: Frozen<Volume>): boolean => projected?.sources?.some(({serviceAccountToken}) => serviceAccountToken) ?? false;

interface Wants {
  readonly volumes: readonly {readonly name: string; readonly references: readonly Reference[]}[];
  readonly containers: readonly {readonly name: string; readonly references: readonly Reference[]; readonly container: Frozen<AnyContainer>}[];
}

const known = new WeakMap<object, Wants | undefined>();

/** Everything a pod's volumes, environments and mounts are made of; undefined where it is nothing. */
const wantsOf = ({spec}: Frozen<Pod>): Wants | undefined => {
  if (known.has(spec!)) return known.get(spec!);
  const volumes = (spec?.volumes ?? []).filter(volume => !isAccessVolume(volume)).map(volume => ({name: volume.name, references: ofVolume(volume)}));
  const containers = [...specContainers(spec!)].map(({container}) => ({name: container.name, references: ofContainer(container), container}));
  const isAny = [...volumes, ...containers].some(({references}) => references.length > 0) || containers.some(({container}) => namesSubPaths(container));
  const wants = isAny ? {volumes, containers} : undefined;
  known.set(spec!, wants);
  return wants;
};

/** Whether a pod refers to anything that might not be there. */
export const refersToOthers = (pod: Frozen<Pod>): boolean => wantsOf(pod) !== undefined;

const titles = {configmap: 'ConfigMap', secret: 'Secret'} as const;

/** How long until what is missing is looked for again. */
const retryMs = 5_000;

/** Looks for what a pod refers to, as its node. */
export const missingOf = async (client: Client, pod: Frozen<Pod>, now: number): Promise<Missing> => {
  const {namespace = ''} = pod.metadata ?? {};
  const seen = new Map<string, Promise<ReadonlySet<string> | undefined>>();
  const keysOf = ({kind, name}: Reference): Promise<ReadonlySet<string> | undefined> => {
    const id = `${kind}/${name}`;
    const found = seen.get(id);
    if (found) return found;
    const asked = kind === 'secret' ? client.resource<Secret>(kinds.secrets).get(name, {namespace}) : client.resource<ConfigMap>(kinds.configMaps).get(name, {namespace});
    const keys = asked.then(
      object => new Set([...Object.keys(object.data ?? {}), ...('binaryData' in object ? Object.keys(object.binaryData ?? {}) : [])]),
      (error: unknown) => {
        if (isNotFound(error) || isForbidden(error)) return undefined;
        throw error;
      },
    );
    seen.set(id, keys);
    return keys;
  };
  const complaint = async (references: readonly Reference[], lacks: (reference: Reference, key: string) => string): Promise<string | undefined> => {
    for (const wanted of references) {
      const keys = await keysOf(wanted);
      if (!keys) return `${wanted.kind} ${JSON.stringify(wanted.name)} not found`;
      const lacking = wanted.keys.find(key => !keys.has(key));
      if (lacking !== undefined) return lacks(wanted, lacking);
    }
    return undefined;
  };

  const {volumes = [], containers = []} = wantsOf(pod) ?? {};
  const again = now + retryMs;
  const configs = new Map<string, string>();
  for (const {name, references} of volumes) {
    const why = await complaint(references, ({kind}, key) => `references non-existent ${kind === 'secret' ? 'secret' : 'config'} key: ${key}`);
    if (why) return {mount: {volume: name, why}, configs, again};
  }
  for (const {name, references, container} of containers) {
    const lacking = await complaint(references, (wanted, key) => `couldn't find key ${key} in ${titles[wanted.kind]} ${namespace}/${wanted.name}`);
    const why = lacking ?? subPathFault(pod, container);
    if (why) configs.set(name, why);
  }
  return {configs, again};
};
