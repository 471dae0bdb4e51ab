// Image pulls: each waits in the queue, tries its credentials, and is recorded with those that worked.

import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {Clock} from '#src/base/clock.js';
import {messageOf} from '#src/base/message.js';
import {identityOfPod} from '#src/platlet/inputs/sandbox-config.js';
import type {SandboxConfig} from '#src/platlet/runtime/configs.js';
import type {Image, ImageSpec} from '#src/platlet/runtime/images.js';
import {RuntimeError, type Runtime} from '#src/platlet/runtime/runtime.js';
import type {ImageAccess} from './image-access.js';
import type {TrackedCredentials} from './keyring.js';
import {PullQueue, type PullLimits} from './pull-queue.js';

export interface ImagePullsParts {
  readonly runtime: Pick<Runtime, 'imageStatus' | 'pullImage'>;
  readonly clock: Clock;
  readonly limits: PullLimits;
  /** Records the credentials of pulls; absent: they are not recorded. */
  readonly access?: Pick<ImageAccess, 'begin' | 'pulled' | 'failed'> | undefined;
}

/** A request to pull an image for a pod. */
export interface PullOrder {
  readonly pod: Frozen<Pod>;
  /** The image name in the container spec. */
  readonly image: string;
  readonly spec: ImageSpec;
  /** Returns the credentials of the pod for the image. */
  readonly credentials: () => Promise<readonly TrackedCredentials[]>;
  readonly signal: AbortSignal;
}

/** The result of a pull. */
export interface Pull {
  readonly ref: string;
  /** The image as the runtime reports it; undefined if it has been removed meanwhile. */
  readonly pulled: Image | undefined;
  /** The duration of the pull without the wait in the queue. */
  readonly ms: number;
}

/** Pulls images within the limits of concurrency and rate. */
export class ImagePulls {
  readonly #parts: ImagePullsParts;
  readonly #queue: PullQueue;

  constructor(parts: ImagePullsParts) {
    this.#parts = parts;
    this.#queue = new PullQueue(parts.clock, parts.limits);
  }

  /** Queues a pull. Rejects with the errors of all credentials. */
  async pull(order: PullOrder): Promise<Pull> {
    const {clock, runtime, access} = this.#parts;
    const {image, spec, signal} = order;
    const all = await order.credentials();
    await access?.begin(image);
    const run = this.#queue.run(async () => {
      const begun = clock.monotonic();
      return {...(await this.#pullWithAny(order, all)), ms: clock.monotonic() - begun};
    }, signal);
    const {ref, used, ms} = await run.catch(async (error: unknown) => {
      await access?.failed(image);
      throw error;
    });
    let pulled: Image | undefined;
    try {
      pulled = await runtime.imageStatus({...spec, image: ref});
    } finally {
      await access?.pulled(image, pulled?.id ?? ref, used);
    }
    return {pulled, ref, ms};
  }

  /** Tries the credentials in turn. */
  async #pullWithAny(
    {spec, pod}: PullOrder,
    credentials: readonly TrackedCredentials[],
  ): Promise<{readonly ref: string; readonly used: TrackedCredentials | undefined}> {
    const {runtime} = this.#parts;
    const sandbox = sandboxOf(pod);
    if (credentials.length === 0) return {ref: await runtime.pullImage(spec, undefined, sandbox), used: undefined};
    const errors: unknown[] = [];
    const tried = new Set<string>();
    for (const used of credentials) {
      if (tried.has(used.hash)) continue;
      tried.add(used.hash);
      try {
        return {ref: await runtime.pullImage(spec, used.credentials, sandbox), used};
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length === 1) throw errors[0];
    const messages = [...new Set(errors.map(messageOf))];
    throw new RuntimeError('failed', messages.length === 1 ? messages[0]! : `[${messages.join(', ')}]`, {cause: errors[0]});
  }
}

/** Returns the sandbox that an image is pulled for, with the identity of the pod only. */
const sandboxOf = (pod: Frozen<Pod>): SandboxConfig => ({
  pod: identityOfPod(pod),
  attempt: 0,
  hostname: '',
  logDirectory: '',
  portMappings: [],
  labels: {...pod.metadata?.labels},
  annotations: {...pod.metadata?.annotations},
  cgroupParent: '',
  sysctls: {},
  security: {
    namespaces: {network: 'pod', pid: 'container', ipc: 'pod'},
    supplementalGroups: [],
    privileged: false,
  },
});
