// The images that the containers of a pod mount as volumes.

import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Pod} from '#src/api/pod.js';
import type {Images} from '#src/platlet/pod/ports.js';
import type {ImageSpec} from '#src/platlet/runtime/images.js';

/** The image volumes of a pod during one sync, in which each is pulled once. */
export class ImageVolumes {
  readonly #images: Pick<Images, 'ensureVolume'>;
  readonly #signal: AbortSignal;
  readonly #pulls = new Map<string, Promise<ImageSpec | undefined>>();

  constructor(images: Pick<Images, 'ensureVolume'>, signal: AbortSignal) {
    this.#images = images;
    this.#signal = signal;
  }

  /**
   * Returns the images of the volumes that a container mounts. Calls `failed` with each failure, and throws the last
   * one.
   */
  async of(
    pod: Frozen<Pod>,
    {volumeMounts = []}: Frozen<AnyContainer>,
    failed: (error: unknown) => void,
  ): Promise<ReadonlyMap<string, ImageSpec>> {
    const found = new Map<string, ImageSpec>();
    const failures: unknown[] = [];
    for (const {name} of volumeMounts) {
      try {
        const image = await this.#pull(pod, name);
        if (image) found.set(name, image);
      } catch (error) {
        failures.push(error);
        failed(error);
      }
    }
    if (failures.length > 0) throw failures.at(-1);
    return found;
  }

  async #pull(pod: Frozen<Pod>, name: string): Promise<ImageSpec | undefined> {
    const volume = pod.spec?.volumes?.find(each => each.name === name);
    if (!volume?.image) return undefined;
    const pull = this.#pulls.get(name) ?? this.#images.ensureVolume?.(pod, volume, this.#signal) ?? Promise.resolve(undefined);
    this.#pulls.set(name, pull);
    return pull;
  }
}
