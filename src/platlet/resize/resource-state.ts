// The resources that were allocated to pods, or that their containers run with, kept in a file so that a later agent
// knows them. The file is that of the original.

import type {Files} from '#src/base/files/files.js';
import {messageOf} from '#src/base/message.js';
import {formatCheckpoint, parseCheckpoint} from '#src/platlet/checkpoint/text-checkpoint.js';
import {orderedRequirements, type PodResources, type Requirements} from '#src/platlet/pod/resources/pod-resources.js';

interface Entry {
  readonly ContainerResources: Readonly<Record<string, Requirements>> | null;
  readonly PodLevelResources?: Requirements | null;
}

const sorted = <A>(items: Readonly<Record<string, A>>, map: (item: A) => unknown): Record<string, unknown> =>
  Object.fromEntries(
    Object.keys(items)
      .sort()
      .map(key => [key, map(items[key]!)]),
  );

const dataOf = (pods: ReadonlyMap<string, PodResources>): string =>
  JSON.stringify(
    pods.size === 0
      ? {}
      : {
          entries: sorted(Object.fromEntries(pods), ({containers, pod}: PodResources) => ({
            ContainerResources: sorted(containers, orderedRequirements),
            PodLevelResources: pod ? orderedRequirements(pod) : null,
          })),
        },
  );

const podsIn = (data: string): Map<string, PodResources> => {
  const {entries} = JSON.parse(data) as {readonly entries?: Readonly<Record<string, Entry>>};
  return new Map(
    Object.entries(entries ?? {}).map(([uid, {ContainerResources, PodLevelResources}]) => [
      uid,
      {containers: ContainerResources ?? {}, ...(PodLevelResources ? {pod: PodLevelResources} : {})},
    ]),
  );
};

const fileMode = 0o600;

/** Where the resources are kept. */
export interface StateFile {
  readonly files: Pick<Files, 'read' | 'write'>;
  readonly path: string;
}

/** Resources of pods, by uid. */
export class ResourceState {
  readonly #file: StateFile | undefined;
  readonly #pods: Map<string, PodResources>;
  #isChanged = false;
  #saved: string;
  #writing: Promise<void> = Promise.resolve();
  /** The next write, which has not begun. */
  #next: Promise<void> | undefined;

  /** Without a file the state is in memory alone. */
  constructor(file?: StateFile, pods: Map<string, PodResources> = new Map()) {
    this.#file = file;
    this.#pods = pods;
    this.#saved = dataOf(pods);
  }

  /** Reads a state. Rejects with an error of one line if the file is damaged. */
  static async open(file: StateFile): Promise<ResourceState> {
    const content = await file.files.read(file.path);
    try {
      return new ResourceState(file, content ? podsIn(parseCheckpoint(content.toString())) : new Map());
    } catch (cause) {
      throw new Error(
        `could not restore state from checkpoint: ${messageOf(cause)}, please drain this node and delete pod resource information checkpoint file ${JSON.stringify(file.path)} before restarting the agent`,
        {cause},
      );
    }
  }

  get(uid: string): PodResources | undefined {
    return this.#pods.get(uid);
  }

  /** Resolves once the change is in the file. Rejects if it cannot be written. */
  set(uid: string, resources: PodResources): Promise<void> {
    this.#pods.set(uid, resources);
    this.#isChanged = true;
    return this.save();
  }

  /** As `set`, for one container. */
  setContainer(uid: string, name: string, resources: Requirements): Promise<void> {
    const before = this.#pods.get(uid);
    return this.set(uid, {...before, containers: {...before?.containers, [name]: resources}});
  }

  /** As `set`, for the pod itself. */
  setPod(uid: string, pod: Requirements): Promise<void> {
    return this.set(uid, {containers: this.#pods.get(uid)?.containers ?? {}, pod});
  }

  /** Forgets a pod. The file still has it until the next change. */
  remove(uid: string): void {
    this.#pods.delete(uid);
  }

  /** Forgets the pods that are not known. */
  sweep(isKnown: (uid: string) => boolean): void {
    for (const uid of this.#pods.keys()) if (!isKnown(uid)) this.#pods.delete(uid);
  }

  /** Resolves once the file has what is known now. Several changes at once are one write. */
  save(): Promise<void> {
    this.#next ??= this.#writing.then(() => {
      this.#next = undefined;
      const result = this.#write();
      this.#writing = result.catch(() => {});
      return result;
    });
    return this.#next;
  }

  async #write(): Promise<void> {
    const file = this.#file;
    if (!file || !this.#isChanged) return;
    this.#isChanged = false;
    const data = dataOf(this.#pods);
    if (data === this.#saved) return;
    try {
      await file.files.write(file.path, formatCheckpoint(data), fileMode);
    } catch (error) {
      this.#isChanged = true;
      throw error;
    }
    this.#saved = data;
  }
}
