// Provides the images of containers: finds them on the node, or pulls them according to the pull policy.

import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Pod, Volume} from '#src/api/pod.js';
import type {Clock} from '#src/base/clock.js';
import {lazily} from '#src/base/lazily.js';
import {messageOf} from '#src/base/message.js';
import {isImageName, usesLatestTag, withDefaultTag} from '#src/model/pod/image-name.js';
import {specContainers} from '#src/model/pod/spec-containers.js';
import {imageTexts, pullDecision} from '#src/platlet/pod/image-pull.js';
import {WaitingError, type Images, type PulledImage} from '#src/platlet/pod/ports.js';
import type {Image, ImageSpec} from '#src/platlet/runtime/images.js';
import type {Runtime} from '#src/platlet/runtime/runtime.js';
import type {EventRecorder, Regarding} from '#src/runtime/events/events.js';
import {PullBackoffs} from './backoffs.js';
import type {ImageAccess} from './image-access.js';
import type {ImagePulls, PullOrder} from './image-pulls.js';
import type {PullCredentials} from './pull-credentials.js';

export interface ImagePullerParts {
  readonly runtime: Pick<Runtime, 'imageStatus'>;
  readonly credentials: PullCredentials;
  readonly pulls: ImagePulls;
  /** Decides whether a pod may use a present image; absent: every pod may. */
  readonly access?: Pick<ImageAccess, 'mustPull'> | undefined;
  readonly events: EventRecorder;
  readonly clock: Clock;
  /** Called after a pull with its duration and the size of the image. */
  readonly pulled?: (seconds: number, bytes: number | undefined) => void;
  /** What is done with images besides; nothing by default. */
  readonly uses?: ImageUses;
}

export interface ImageUses {
  /** Whether images are mounted as volumes. */
  readonly mounts: boolean;
  /** Returns the runtime handler of a pod, for runtimes that keep images apart by handlers; absent: they do not. */
  readonly handlerOf?: ((pod: Frozen<Pod>) => Promise<string>) | undefined;
}

/** Runtime errors that are waiting reasons of their own. */
const ownReasons = [
  {text: 'RegistryUnavailable', reason: 'RegistryUnavailable', why: 'because the registry is unavailable'},
  {text: 'SignatureValidationFailed', reason: 'SignatureValidationFailed', why: 'because the signature validation failed'},
] as const;

/** A container whose image is ensured. */
interface Wanted extends PullOrder {
  /** The reference in events. */
  readonly regarding: Regarding;
  readonly policy: string | undefined;
  /** Whether it is the image of a container: the event of its failure is recorded. */
  readonly isOfContainer: boolean;
}

/** Pulls the images of a node's containers. */
export class ImagePuller implements Images {
  readonly #parts: ImagePullerParts;
  readonly #backoffs: PullBackoffs;

  constructor(parts: ImagePullerParts) {
    this.#parts = parts;
    this.#backoffs = new PullBackoffs(parts.clock);
  }

  async prepare(pod: Frozen<Pod>): Promise<void> {
    const {credentials, events} = this.#parts;
    const missing = await credentials.missing(pod);
    if (missing.length === 0) return;
    events.warning(
      pod,
      'FailedToRetrieveImagePullSecret',
      `Unable to retrieve some image pull secrets (${missing.join(', ')}); attempting to pull the image may not succeed.`,
    );
  }

  async ensure(pod: Frozen<Pod>, container: Frozen<AnyContainer>, signal: AbortSignal): Promise<PulledImage> {
    const {image = '', name, imagePullPolicy: policy} = container;
    const path = [...specContainers(pod.spec!)].find(of => of.container.name === name)?.path;
    const regarding = path ? {...pod, fieldPath: path} : pod;
    return this.#ensure({pod, regarding, image, policy, signal, isOfContainer: true});
  }

  async ensureVolume(pod: Frozen<Pod>, {image}: Frozen<Volume>, signal: AbortSignal): Promise<ImageSpec | undefined> {
    if (!image || !this.#parts.uses?.mounts) return undefined;
    const {reference = '', pullPolicy: policy} = image;
    const {ref} = await this.#ensure({pod, regarding: pod, image: reference, policy, signal, isOfContainer: false});
    return {...(await this.#specOf(pod, ref)), userSpecified: reference};
  }

  async #ensure(asked: Omit<Wanted, 'spec' | 'credentials'>): Promise<PulledImage> {
    const {pod, image, regarding, policy = usesLatestTag(image) ? 'Always' : 'IfNotPresent'} = asked;
    const {events, credentials} = this.#parts;
    if (!isImageName(image)) {
      const message = imageTexts.invalid(image);
      events.warning(regarding, 'InspectFailed', message);
      throw this.#failed(asked, 'InvalidImageName', message);
    }
    const wanted: Wanted = {
      ...asked,
      spec: {...(await this.#specOf(pod, withDefaultTag(image))), userSpecified: image},
      credentials: lazily(() => credentials.of(pod, image)),
    };
    const present = await this.#inspect(wanted);
    if (present && pullDecision(policy, true) === 'use' && (await this.#isAccessible(wanted, present))) return imageOf(present);
    // A present image that the pod must not use counts as absent: events do not disclose that it is present.
    if (pullDecision(policy, false) === 'refuse') {
      const message = imageTexts.absent(image);
      events.warning(regarding, 'ErrImageNeverPull', message);
      throw this.#failed(asked, 'ErrImageNeverPull', message);
    }
    return this.#pull(wanted);
  }

  /** Returns an image for a pod as the runtime is asked for it. */
  async #specOf(pod: Frozen<Pod>, image: string): Promise<ImageSpec> {
    const annotations = pod.metadata?.annotations;
    const handler = await this.#parts.uses?.handlerOf?.(pod);
    return {image, ...(annotations ? {annotations} : {}), ...(handler ? {handler} : {})};
  }

  /** Whether the pod may use a present image. */
  async #isAccessible({image, regarding, credentials}: Wanted, {id}: Image): Promise<boolean> {
    const {access, events} = this.#parts;
    if (access && (await access.mustPull(image, id, credentials))) return false;
    events.normal(regarding, 'Pulled', imageTexts.present(image, access !== undefined));
    return true;
  }

  /** Records the event of a failure. */
  #failed(
    {regarding, isOfContainer}: Pick<Wanted, 'regarding' | 'isOfContainer'>,
    reason: string,
    message: string,
    cause?: unknown,
  ): WaitingError {
    if (isOfContainer) this.#parts.events.warning(regarding, 'Failed', `Error: ${reason}`);
    return new WaitingError(reason, message, {cause});
  }

  async #inspect(wanted: Wanted): Promise<Image | undefined> {
    const {regarding, image, spec} = wanted;
    try {
      return await this.#parts.runtime.imageStatus(spec);
    } catch (error) {
      const message = `Failed to inspect image ${JSON.stringify(image)}: ${messageOf(error)}`;
      this.#parts.events.warning(regarding, 'InspectFailed', message);
      throw this.#failed(wanted, 'ImageInspectError', message, error);
    }
  }

  async #pull(wanted: Wanted): Promise<PulledImage> {
    const {pulls, events, clock} = this.#parts;
    const {pod, regarding, image, signal} = wanted;
    const key = `${pod.metadata?.uid}_${image}`;
    this.#backoffs.sweep();
    const pending = this.#backoffs.pending(key);
    if (pending !== undefined) {
      events.normal(regarding, 'BackOff', imageTexts.backOff(image));
      throw this.#failed(wanted, 'ImagePullBackOff', imageTexts.backingOff(image, pending));
    }
    events.normal(regarding, 'Pulling', imageTexts.pulling(image));
    const asked = clock.monotonic();
    try {
      const {pulled, ref, ms} = await pulls.pull(wanted);
      this.#parts.pulled?.(ms / 1000, pulled?.bytes);
      const withWaitMs = clock.monotonic() - asked;
      events.normal(regarding, 'Pulled', imageTexts.pulled(image, {ms, withWaitMs, bytes: pulled?.bytes ?? 0}));
      return pulled ? imageOf(pulled) : {ref};
    } catch (error) {
      signal.throwIfAborted();
      events.warning(regarding, 'Failed', imageTexts.failed(image, messageOf(error)));
      const {reason, message} = pullFailure(image, error);
      this.#backoffs.failed(key, `${reason}: ${message}`);
      throw this.#failed(wanted, reason, message, error);
    }
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
