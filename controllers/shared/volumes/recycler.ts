import type {Change} from '#informers/change.js';
import type {Lister} from '#informers/lister.js';
import type {Source} from '#informers/selection.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod, PodTemplateSpec, Volume as PodVolume} from '#src/api/pod.js';
import {isAlreadyExists} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {quantityValue} from '#src/api/quantity.js';
import type {Client} from '#src/client/client.js';
import {isTerminal} from '#src/model/pod/state.js';
import {storageCapacity} from '#src/model/volumes.js';
import {unlessMissing} from '#src/client/missing.js';
import type {RecordProgress, VolumePlugin, VolumeSpec, Waiting} from './plugin.js';

const namespace = 'default';

/** The command deletes everything in the volume, and fails if anything is left. */
const scrub = 'test -e /scrub && find /scrub -mindepth 1 -delete && test -z "$(ls -A /scrub)" || exit 1';

/** The pod that recycles volumes unless a file gives another. */
export const scrubber: PodTemplateSpec = {
  metadata: {namespace},
  spec: {
    restartPolicy: 'Never',
    volumes: [{name: 'vol'}],
    containers: [
      {
        name: 'pv-recycler',
        image: 'docker.io/library/debian:bookworm-slim',
        command: ['/bin/sh'],
        args: ['-c', scrub],
        volumeMounts: [{name: 'vol', mountPath: '/scrub'}],
      },
    ],
  },
};

export interface RecyclerSettings {
  readonly template: PodTemplateSpec;
  /** The time a pod may take in seconds: the larger of the minimum and the increment for each GiB. */
  readonly minimumSeconds: number;
  readonly secondsPerGi: number;
}

/** Returns the pod that recycles a volume. */
export const recyclerPod = (spec: VolumeSpec, {template, minimumSeconds, secondsPerGi}: RecyclerSettings): Pod => {
  const pod = structuredClone(template) as Pod;
  const gi = spec.volume ? Number(quantityValue(storageCapacity(spec.volume)) >> 30n) : 0;
  const {generateName: _, ...metadata} = pod.metadata ?? {};
  const [first, ...others] = pod.spec?.volumes ?? [];
  const {name} = first ?? {name: 'vol'};
  const {hostPath, nfs, flexVolume} = spec.source;
  return {
    ...pod,
    metadata: {...metadata, namespace: metadata.namespace ?? namespace, name: `recycler-for-${spec.name}`},
    spec: {
      ...pod.spec!,
      volumes: [
        {name, ...(hostPath ? {hostPath} : {}), ...(nfs ? {nfs} : {}), ...(flexVolume ? {flexVolume} : {})} as PodVolume,
        ...others,
      ],
      activeDeadlineSeconds: Math.max(minimumSeconds, gi * secondsPerGi),
    },
  };
};

export interface RecyclerParts {
  readonly client: Client;
  readonly naming: Naming;
  lister<T extends KubeObject>(source: Source<T>): Lister<T>;
  listen<T extends KubeObject>(source: Source<T>, listener: (change: Change<T>) => void): void;
}

/** Recycles volumes by pods that scrub them. To be created while its controller is. */
export class Recycler {
  readonly #client: Client;
  readonly #pods: Lister<Pod>;
  readonly #checks = new Map<string, (deletedUid?: string) => void>();

  constructor({client, lister, listen}: RecyclerParts) {
    this.#client = client;
    this.#pods = lister(kinds.pods);
    listen(kinds.pods, ({type, object: {metadata}}) =>
      this.#checks.get(`${metadata?.namespace}/${metadata?.name}`)?.(type === 'deleted' ? metadata?.uid : undefined),
    );
  }

  /** Returns the recycle facet of a plugin. */
  with(settings: RecyclerSettings): NonNullable<VolumePlugin['recycle']> {
    return (spec, record, waiting) => this.#recycle(recyclerPod(spec, settings), record, waiting);
  }

  async #recycle(pod: Pod, record: RecordProgress, waiting: Waiting): Promise<void> {
    const {name = '', namespace: home = ''} = pod.metadata ?? {};
    const events = this.#client
      .resource(kinds.coreEvents)
      .watch({namespace: home, fieldSelector: `involvedObject.kind=Pod,involvedObject.name=${name}`, resourceVersion: ''})
      .subscribe({
        next: ({type, object}) => type === 'ADDED' && record(object.type === 'Warning' ? 'Warning' : 'Normal', object.message ?? ''),
        error() {}, // Events are only relayed.
      });
    const pods = this.#client.resource(kinds.pods);
    try {
      // A pod that an earlier manager created does the same work.
      const uid = await pods.create(pod).then(
        ({metadata}) => metadata?.uid,
        async (error: unknown) => {
          if (!isAlreadyExists(error))
            throw new Error(`unexpected error creating recycler pod:  ${(error as Error).message}`, {cause: error});
          return (await pods.get(name, {namespace: home})).metadata?.uid;
        },
      );
      await waiting.released(() => this.#ended(`${home}/${name}`, uid, waiting.signal));
    } finally {
      events.unsubscribe();
      await unlessMissing(pods.delete(name, {namespace: home}));
    }
  }

  /** Resolves when the pod has succeeded. */
  #ended(key: string, uid: string | undefined, signal: AbortSignal): Promise<void> {
    let wasSeen = false;
    const outcome = (pod: Frozen<Pod> | undefined, deletedUid?: string): Error | 'succeeded' | undefined => {
      if (pod?.metadata?.uid !== uid) return wasSeen || deletedUid === uid ? new Error('recycler pod was deleted') : undefined;
      wasSeen = true;
      if (!pod || !isTerminal(pod)) return undefined;
      if (pod.status?.phase === 'Succeeded') return 'succeeded';
      return new Error(pod.status?.message || 'pod failed, pod.Status.Message unknown');
    };
    return new Promise<void>((resolve, reject) => {
      const end = (settle: () => void) => {
        this.#checks.delete(key);
        signal.removeEventListener('abort', abort);
        settle();
      };
      const abort = () => end(() => reject(signal.reason as Error));
      const check = (deletedUid?: string) => {
        const found = outcome(this.#pods.get(key), deletedUid);
        if (found) end(() => (found === 'succeeded' ? resolve() : reject(found)));
      };
      if (signal.aborted) return abort();
      signal.addEventListener('abort', abort, {once: true});
      this.#checks.set(key, check);
      check();
    });
  }
}
