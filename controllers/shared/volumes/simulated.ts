import {parseDuration} from '#src/api/duration.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import {ExpansionInfeasible, VolumeInUse, type VolumePlugin, type VolumeSpec, type Waiting} from './plugin.js';

/** What a volume can be made to do, by parameters of its class, which become options of the volume. */
type Step = 'provision' | 'delete' | 'recycle' | 'attach' | 'detach' | 'expand';

type Options = Readonly<Record<string, string>>;

const optionsOf = ({source}: VolumeSpec): Options => source.flexVolume?.options ?? {};

/** Waits and fails as the options say: `<step>Delay` is a duration, `<step>Error` a message. */
const perform = async (step: Step, options: Options, {pause}: Waiting): Promise<void> => {
  const delayMs = parseDuration(options[`${step}Delay`] ?? '0s');
  if (delayMs === undefined) throw new Error(`${step}Delay: "${options[`${step}Delay`]}" is no duration`);
  if (delayMs > 0) await pause(delayMs);
  const error = options[`${step}Error`];
  if (error === undefined) return;
  if (step === 'delete' && options['deleteInUse'] === 'true') throw new VolumeInUse(error);
  if (step === 'expand' && options['expandInfeasible'] === 'true') throw new ExpansionInfeasible(error);
  throw new Error(error);
};

/** Storage without any data, which this process handles in full, and which fails or is slow as its options say. For tests. */
export const simulatedPlugin = (naming: Naming): VolumePlugin => {
  const name = naming.key('simulated');
  return {
    name,
    supportsMountOptions: true,
    canSupport: ({source}) => source.flexVolume?.driver === name,
    uniqueName: spec => spec.name,
    async provision({volumeName, claim, storageClass, node}, waiting) {
      const options = storageClass.parameters ?? {};
      await perform('provision', options, waiting);
      const {resources, accessModes = [], volumeMode = 'Filesystem'} = claim.spec ?? {};
      const hostname = node?.metadata?.labels?.[naming.labels.hostname];
      return {
        apiVersion: naming.apiVersion('', 'v1'),
        kind: kinds.persistentVolumes.kind,
        metadata: {name: volumeName},
        spec: {
          persistentVolumeReclaimPolicy: storageClass.reclaimPolicy ?? 'Delete',
          accessModes: [...accessModes],
          capacity: {storage: resources?.requests?.['storage'] ?? '0'},
          volumeMode,
          mountOptions: [...(storageClass.mountOptions ?? [])],
          flexVolume: {driver: name, options: {...options}},
          ...(hostname && options['topology'] === 'node'
            ? {
                nodeAffinity: {
                  required: {
                    nodeSelectorTerms: [{matchExpressions: [{key: naming.labels.hostname, operator: 'In', values: [hostname]}]}],
                  },
                },
              }
            : {}),
        },
      };
    },
    delete: (spec, waiting) => perform('delete', optionsOf(spec), waiting),
    async recycle(spec, record, waiting) {
      await perform('recycle', optionsOf(spec), waiting);
      record('Normal', `Scrubbed ${spec.name}`);
    },
    attacher: {
      async attach(spec, _, waiting) {
        await perform('attach', optionsOf(spec), waiting);
        return `/dev/simulated/${spec.name}`;
      },
      detach: (spec, _, waiting) => perform('detach', optionsOf(spec), waiting),
      areAttached: specs => Promise.resolve(specs.map(() => true)),
    },
    expander: {
      requiresNodeExpansion: true,
      async expand(spec, newSize, _, waiting) {
        await perform('expand', optionsOf(spec), waiting);
        return newSize;
      },
    },
  };
};
