// The credentials of a pod for an image, from its pull secrets.

import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import type {Secret} from '#src/api/types.js';
import type {Log} from '#src/base/log.js';
import {repositoryName} from '#src/model/pod/image-name.js';
import type {PodObjects} from '#src/platlet/objects/pod-objects.js';
import {bestFirst, credentialsFor, keyringOf, type KeyringEntry, type TrackedCredentials} from './keyring.js';

export interface PullCredentialsParts {
  readonly naming: Naming;
  readonly objects: Pick<PodObjects, 'secret'>;
  readonly log: Log;
  /** Returns what credential providers have for an image, without tag and digest; absent: there are none. */
  readonly provided?: (pod: Frozen<Pod>, image: string) => Promise<readonly KeyringEntry[]>;
}

interface PullSecrets {
  readonly secrets: readonly Frozen<Secret>[];
  readonly missing: readonly string[];
}

/** Reads the pull secrets of pods. */
export class PullCredentials {
  readonly #parts: PullCredentialsParts;

  constructor(parts: PullCredentialsParts) {
    this.#parts = parts;
  }

  /** Returns the names of pull secrets that cannot be read. */
  async missing(pod: Frozen<Pod>): Promise<readonly string[]> {
    return (await this.#read(pod)).missing;
  }

  /** Returns the credentials of a pod for an image, in the order in which they are tried. */
  async of(pod: Frozen<Pod>, image: string): Promise<readonly TrackedCredentials[]> {
    const {secrets} = await this.#read(pod);
    const {naming, provided} = this.#parts;
    const own = credentialsFor(keyringOf(naming, secrets), image);
    const repository = provided && repositoryName(image);
    if (repository === undefined) return own;
    return [...own, ...credentialsFor(bestFirst(await provided!(pod, repository)), image)];
  }

  async #read({metadata, spec}: Frozen<Pod>): Promise<PullSecrets> {
    const {objects, log} = this.#parts;
    const secrets: Frozen<Secret>[] = [];
    const missing: string[] = [];
    for (const {name = ''} of spec?.imagePullSecrets ?? []) {
      if (!name) continue;
      try {
        secrets.push(await objects.secret(metadata?.namespace ?? '', name));
      } catch (error) {
        log.v(2).info({secret: name, err: error}, 'unable to retrieve pull secret, the image pull may not succeed');
        missing.push(name);
      }
    }
    return {secrets, missing};
  }
}
