// The user namespaces of a node's pods: each has ids of the host of its own.

import {join} from 'node:path';
import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {messageOf} from '#src/base/message.js';
import type {NodeFolders} from '#src/platlet/host/folders.js';
import type {Host} from '#src/platlet/host/host.js';
import type {IdMapping} from '#src/platlet/runtime/configs.js';
import type {RuntimeHandler} from '#src/platlet/runtime/runtime.js';
import type {IdRange} from './id-range.js';
import {mappingOf, mappingsFile, mappingsText} from './mappings-file.js';

export interface UserNamespacesParts {
  readonly host: Pick<Host, 'read' | 'list' | 'writeFile' | 'rename' | 'removeFile' | 'makeFolder'>;
  readonly folders: NodeFolders;
  readonly range: IdRange;
  readonly idsPerPod: number;
  /** Returns the handlers of the runtime; undefined if it does not report them. */
  handlers(): readonly RuntimeHandler[] | undefined;
}

const fileMode = 0o600;
const folderMode = 0o750;

/** Assigns ids of the host to pods. They are kept in a file in the folder of each pod. */
export class UserNamespaces {
  readonly #parts: UserNamespacesParts;
  /** The first id of a pod by its uid. */
  readonly #used = new Map<string, number>();

  private constructor(parts: UserNamespacesParts) {
    this.#parts = parts;
  }

  /** Finds the assignments of an earlier process. Rejects if those cannot be. */
  static async open(parts: UserNamespacesParts): Promise<UserNamespaces> {
    const namespaces = new UserNamespaces(parts);
    for (const uid of await parts.host.list(parts.folders.pods)) {
      try {
        const text = await namespaces.#read(uid);
        if (text) namespaces.#record(uid, mappingOf(text));
      } catch (error) {
        throw new Error(`record pod mappings for existing pod ${JSON.stringify(uid)}: ${messageOf(error)}`, {cause: error});
      }
    }
    return namespaces;
  }

  /** Returns the ids of a pod; undefined if it has the users of the host. Rejects if the runtime cannot map them. */
  async of({metadata, spec}: Frozen<Pod>, handler: string): Promise<IdMapping | undefined> {
    if (spec?.hostUsers !== false) return undefined;
    checkHandler(this.#parts.handlers(), handler);
    const uid = metadata?.uid ?? '';
    const text = await this.#read(uid);
    if (!text) return this.#create(uid);
    try {
      const mapping = mappingOf(text);
      this.#record(uid, mapping);
      return mapping;
    } catch (error) {
      throw new Error(`user namespace: ${messageOf(error)}`, {cause: error});
    }
  }

  /** Frees the ids of a pod that is over. */
  async release(uid: string): Promise<void> {
    const {host, folders} = this.#parts;
    if (this.#used.delete(uid)) await host.removeFile(join(folders.pod(uid), mappingsFile));
  }

  async #create(uid: string): Promise<IdMapping> {
    const {range, idsPerPod, host, folders} = this.#parts;
    const used = new Set(this.#used.values());
    let hostId = range.first;
    while (used.has(hostId)) hostId += idsPerPod;
    if (hostId >= range.first + range.length)
      throw new Error('create user namespace: could not find an empty slot to allocate a user namespace');
    this.#used.set(uid, hostId);
    const mapping = {hostId, containerId: 0, length: idsPerPod};
    try {
      const path = join(folders.pod(uid), mappingsFile);
      await host.makeFolder(folders.pod(uid), folderMode);
      await host.writeFile(`${path}.tmp`, mappingsText(mapping), fileMode);
      await host.rename(`${path}.tmp`, path);
      return mapping;
    } catch (error) {
      this.#used.delete(uid);
      throw new Error(`create user namespace: ${messageOf(error)}`, {cause: error});
    }
  }

  async #read(uid: string): Promise<string | undefined> {
    const {host, folders} = this.#parts;
    return (await host.read(join(folders.pod(uid), mappingsFile)))?.toString();
  }

  #record(uid: string, {hostId, length}: IdMapping): void {
    const {range, idsPerPod} = this.#parts;
    if (length !== idsPerPod) throw new Error(`wrong user namespace length ${length}`);
    if (hostId % idsPerPod !== 0) throw new Error(`wrong user namespace offset specified ${hostId}`);
    const known = this.#used.get(uid);
    if (known !== undefined && known !== hostId)
      throw new Error(`different user namespace range already used by pod ${JSON.stringify(uid)}`);
    if (hostId < range.first || hostId >= range.first + range.length) throw new Error(`id ${hostId} is out of range`);
    if (known === undefined && [...this.#used.values()].includes(hostId))
      throw new Error(`range picked for pod ${JSON.stringify(uid)} already taken`);
    this.#used.set(uid, hostId);
  }
}

/** Throws unless a runtime handler supports user namespaces. */
const checkHandler = (handlers: readonly RuntimeHandler[] | undefined, handler: string): void => {
  const known = handlers?.find(({name}) => name === handler);
  if (known?.userNamespaces) return;
  const what = handler ? `RuntimeClass handler ${JSON.stringify(handler)} does` : 'runtime does';
  const why = handlers?.length && !known ? `: the handler ${JSON.stringify(handler)} is not known` : '';
  throw new Error(`can't set \`spec.hostUsers: false\`, ${what} not support user namespaces${why}`);
};
