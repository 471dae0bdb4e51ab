// Provides the images of containers: looks for them on the node, and pulls them as their policy says.

import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {AnyContainer, Pod} from '#src/api/pod.js';
import type {Secret} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import {lazily} from '#src/base/lazily.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import {isImageName, usesLatestTag, withDefaultTag} from '#src/model/pod/image-name.js';
import {specContainers} from '#src/model/pod/spec-containers.js';
import {identityOfPod} from '#src/platlet/inputs/sandbox-config.js';
import type {PodObjects} from '#src/platlet/objects/pod-objects.js';
import {imageTexts, pullDecision} from '#src/platlet/pod/image-pull.js';
import {WaitingError, type Images, type PulledImage} from '#src/platlet/pod/ports.js';
import type {SandboxConfig} from '#src/platlet/runtime/configs.js';
import type {Image, ImageSpec} from '#src/platlet/runtime/images.js';
import {RuntimeError, type Runtime} from '#src/platlet/runtime/runtime.js';
import type {EventRecorder, Regarding} from '#src/runtime/events/events.js';
import {PullBackoffs} from './backoffs.js';
import type {ImageAccess} from './image-access.js';
import {credentialsFor, keyringOf, type TrackedCredentials} from './keyring.js';
import {PullQueue, type PullLimits} from './pull-queue.js';

export interface ImagePullerParts {
  readonly naming: Naming;
  readonly runtime: Pick<Runtime, 'imageStatus' | 'pullImage'>;
  readonly objects: Pick<PodObjects, 'secret'>;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: PullLimits;
  /** Decides whether a pod may use an image that is there; absent: every pod may. */
  readonly access?: Pick<ImageAccess, 'mustPull' | 'begin' | 'pulled' | 'failed'> | undefined;
  /** Called after a pull with how long it took and how large the image is. */
  readonly pulled?: (seconds: number, bytes: number | undefined) => void;
}

/** Texts of errors of a runtime that are reasons of their own. */
const ownReasons = [
  {text: 'RegistryUnavailable', reason: 'RegistryUnavailable', why: 'because the registry is unavailable'},
  {text: 'SignatureValidationFailed', reason: 'SignatureValidationFailed', why: 'because the signature validation failed'},
] as const;

/** A container whose image is looked for. */
interface Wanted {
  readonly pod: Frozen<Pod>;
  readonly container: Frozen<AnyContainer>;
  /** What events are about. */
  readonly regarding: Regarding;
  readonly image: string;
  readonly spec: ImageSpec;
  readonly signal: AbortSignal;
  /** Returns the credentials of the pod for the image. */
  readonly credentials: () => Promise<readonly TrackedCredentials[]>;
}

/** An image that was pulled, and with what. */
interface Pulled {
  readonly ref: string;
  readonly used: TrackedCredentials | undefined;
}

/** Pulls the images of a node's containers. */
export class ImagePuller implements Images {
  readonly #parts: ImagePullerParts;
  readonly #backoffs: PullBackoffs;
  readonly #queue: PullQueue;

  constructor(parts: ImagePullerParts) {
    this.#parts = parts;
    this.#backoffs = new PullBackoffs(parts.clock);
    this.#queue = new PullQueue(parts.clock, parts.limits);
  }

  async prepare(pod: Frozen<Pod>): Promise<void> {
    const {missing} = await this.#pullSecrets(pod);
    if (missing.length === 0) return;
    this.#parts.events.warning(
      pod,
      'FailedToRetrieveImagePullSecret',
      `Unable to retrieve some image pull secrets (${missing.join(', ')}); attempting to pull the image may not succeed.`,
    );
  }

  async ensure(pod: Frozen<Pod>, container: Frozen<AnyContainer>, signal: AbortSignal): Promise<PulledImage> {
    const {image = '', name, imagePullPolicy: policy = usesLatestTag(image) ? 'Always' : 'IfNotPresent'} = container;
    const path = [...specContainers(pod.spec!)].find(of => of.container.name === name)?.path;
    const regarding = path ? {...pod, fieldPath: path} : pod;
    const {events} = this.#parts;
    if (!isImageName(image)) {
      const message = imageTexts.invalid(image);
      events.warning(regarding, 'InspectFailed', message);
      throw this.#failed(regarding, 'InvalidImageName', message);
    }
    const wanted: Wanted = {
      pod,
      container,
      regarding,
      image,
      signal,
      spec: {image: withDefaultTag(image), userSpecified: image},
      credentials: lazily(() => this.#credentials(pod, image)),
    };
    const present = await this.#inspect(wanted);
    if (present && pullDecision(policy, true) === 'use' && (await this.#isAccessible(wanted, present))) return imageOf(present);
    // An image that is there and must not be used counts as absent: that it is there is not said.
    if (pullDecision(policy, false) === 'refuse') {
      const message = imageTexts.absent(image);
      events.warning(regarding, 'ErrImageNeverPull', message);
      throw this.#failed(regarding, 'ErrImageNeverPull', message);
    }
    return this.#pull(wanted);
  }

  /** Whether the pod may use an image that is there. */
  async #isAccessible({image, regarding, credentials}: Wanted, {id}: Image): Promise<boolean> {
    const {access, events} = this.#parts;
    if (access && (await access.mustPull(image, id, credentials))) return false;
    events.normal(regarding, 'Pulled', imageTexts.present(image, access !== undefined));
    return true;
  }

  /** Records the failure of a container. */
  #failed(regarding: Regarding, reason: string, message: string, cause?: unknown): WaitingError {
    this.#parts.events.warning(regarding, 'Failed', `Error: ${reason}`);
    return new WaitingError(reason, message, {cause});
  }

  async #inspect({regarding, image, spec}: Wanted): Promise<Image | undefined> {
    try {
      return await this.#parts.runtime.imageStatus(spec);
    } catch (error) {
      const message = `Failed to inspect image ${JSON.stringify(image)}: ${messageOf(error)}`;
      this.#parts.events.warning(regarding, 'InspectFailed', message);
      throw this.#failed(regarding, 'ImageInspectError', message, error);
    }
  }

  async #pull(wanted: Wanted): Promise<PulledImage> {
    const {events, clock} = this.#parts;
    const {pod, regarding, image, signal} = wanted;
    const key = `${pod.metadata?.uid}_${image}`;
    this.#backoffs.sweep();
    const pending = this.#backoffs.pending(key);
    if (pending !== undefined) {
      events.normal(regarding, 'BackOff', imageTexts.backOff(image));
      throw this.#failed(regarding, 'ImagePullBackOff', imageTexts.backingOff(image, pending));
    }
    events.normal(regarding, 'Pulling', imageTexts.pulling(image));
    const asked = clock.monotonic();
    try {
      const {pulled, ref, ms} = await this.#pullNoted(wanted);
      this.#parts.pulled?.(ms / 1000, pulled?.bytes);
      const withWaitMs = clock.monotonic() - asked;
      events.normal(regarding, 'Pulled', imageTexts.pulled(image, {ms, withWaitMs, bytes: pulled?.bytes ?? 0}));
      return pulled ? imageOf(pulled) : {ref};
    } catch (error) {
      signal.throwIfAborted();
      events.warning(regarding, 'Failed', imageTexts.failed(image, messageOf(error)));
      const {reason, message} = pullFailure(image, error);
      this.#backoffs.failed(key, `${reason}: ${message}`);
      throw this.#failed(regarding, reason, message, error);
    }
  }

  /** Pulls an image when it is its turn, and notes with what. */
  async #pullNoted(wanted: Wanted): Promise<{readonly pulled: Image | undefined; readonly ref: string; readonly ms: number}> {
    const {clock, runtime, access} = this.#parts;
    const {pod, image, spec, signal, credentials} = wanted;
    const all = await credentials();
    await access?.begin(image);
    const run = this.#queue.run(async () => {
      const begun = clock.monotonic();
      return {...(await this.#pullWithAny(spec, all, pod)), ms: clock.monotonic() - begun};
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

  /** Tries the credentials in turn. Rejects with the errors of all. */
  async #pullWithAny(spec: ImageSpec, credentials: readonly TrackedCredentials[], pod: Frozen<Pod>): Promise<Pulled> {
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

  async #credentials(pod: Frozen<Pod>, image: string): Promise<readonly TrackedCredentials[]> {
    const {secrets} = await this.#pullSecrets(pod);
    return credentialsFor(keyringOf(this.#parts.naming, secrets), image);
  }

  async #pullSecrets({
    metadata,
    spec,
  }: Frozen<Pod>): Promise<{readonly secrets: readonly Frozen<Secret>[]; readonly missing: readonly string[]}> {
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

const imageOf = ({id, uid, username}: Image): PulledImage => ({
  ref: id,
  ...(uid === undefined ? {} : {uid}),
  ...(username ? {username} : {}),
});

/** Returns the reason and the message of a failed pull. */
const pullFailure = (image: string, error: unknown): {reason: string; message: string} => {
  const message = messageOf(error);
  const own = ownReasons.find(({text}) => message.startsWith(text));
  if (!own) return {reason: 'ErrImagePull', message};
  const rest = message.slice(own.text.length);
  return {reason: own.reason, message: `image pull failed for ${image} ${own.why}${rest}`};
};

/** Returns the sandbox for which an image is pulled, with the identity of the pod alone. */
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
