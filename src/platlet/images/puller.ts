// Provides the images of containers: looks for them on the node, and pulls them as their policy says.

import {formatDuration} from '#src/api/duration.js';
import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {AnyContainer, Pod} from '#src/api/pod.js';
import type {Secret} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import {isImageName, usesLatestTag, withDefaultTag} from '#src/model/pod/image-name.js';
import {specContainers} from '#src/model/pod/spec-containers.js';
import {identityOfPod} from '#src/platlet/inputs/sandbox-config.js';
import type {PodObjects} from '#src/platlet/objects/pod-objects.js';
import {WaitingError, type Images, type PulledImage} from '#src/platlet/pod/ports.js';
import type {SandboxConfig} from '#src/platlet/runtime/configs.js';
import type {Image, ImageCredentials, ImageSpec} from '#src/platlet/runtime/images.js';
import {RuntimeError, type Runtime} from '#src/platlet/runtime/runtime.js';
import type {EventRecorder, Regarding} from '#src/runtime/events/events.js';
import {PullBackoffs} from './backoffs.js';
import {credentialsFor, keyringOf} from './keyring.js';
import {PullQueue, type PullLimits} from './pull-queue.js';

export interface ImagePullerParts {
  readonly naming: Naming;
  readonly runtime: Pick<Runtime, 'imageStatus' | 'pullImage'>;
  readonly objects: Pick<PodObjects, 'secret'>;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: PullLimits;
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

  async ensure(pod: Frozen<Pod>, container: Frozen<AnyContainer>, signal: AbortSignal): Promise<PulledImage> {
    const {image = '', name, imagePullPolicy: policy = usesLatestTag(image) ? 'Always' : 'IfNotPresent'} = container;
    const path = [...specContainers(pod.spec!)].find(of => of.container.name === name)?.path;
    const regarding = path ? {...pod, fieldPath: path} : pod;
    const {events} = this.#parts;
    if (!isImageName(image)) {
      const message = `Failed to apply default image tag ${JSON.stringify(image)}: couldn't parse image name ${JSON.stringify(image)}: invalid reference format`;
      events.warning(regarding, 'InspectFailed', message);
      throw this.#failed(regarding, 'InvalidImageName', message);
    }
    const wanted: Wanted = {pod, container, regarding, image, signal, spec: {image: withDefaultTag(image), userSpecified: image}};
    const present = await this.#inspect(wanted);
    if (present && policy !== 'Always') {
      events.normal(
        regarding,
        'Pulled',
        `Container image ${JSON.stringify(image)} already present on machine and can be accessed by the pod`,
      );
      return imageOf(present);
    }
    if (policy === 'Never') {
      const message = `Container image ${JSON.stringify(image)} is not present with pull policy of Never`;
      events.warning(regarding, 'ErrImageNeverPull', message);
      throw this.#failed(regarding, 'ErrImageNeverPull', message);
    }
    return this.#pull(wanted);
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
    const {events, clock, runtime} = this.#parts;
    const {pod, regarding, image, spec, signal} = wanted;
    const quoted = JSON.stringify(image);
    const key = `${pod.metadata?.uid}_${image}`;
    this.#backoffs.sweep();
    const pending = this.#backoffs.pending(key);
    if (pending !== undefined) {
      events.normal(regarding, 'BackOff', `Back-off pulling image ${quoted}`);
      throw this.#failed(regarding, 'ImagePullBackOff', `Back-off pulling image ${quoted}: ${pending}`);
    }
    const credentials = await this.#credentials(wanted);
    events.normal(regarding, 'Pulling', `Pulling image ${quoted}`);
    const asked = clock.monotonic();
    try {
      const {ref, ms} = await this.#queue.run(async () => {
        const begun = clock.monotonic();
        return {ref: await this.#pullWithAny(spec, credentials, pod), ms: clock.monotonic() - begun};
      }, signal);
      const pulled = await runtime.imageStatus({...spec, image: ref});
      events.normal(
        regarding,
        'Pulled',
        `Successfully pulled image ${quoted} in ${inMs(ms)} (${inMs(clock.monotonic() - asked)} including waiting). Image size: ${pulled?.bytes ?? 0} bytes.`,
      );
      return pulled ? imageOf(pulled) : {ref};
    } catch (error) {
      signal.throwIfAborted();
      events.warning(regarding, 'Failed', `Failed to pull image ${quoted}: ${messageOf(error)}`);
      const {reason, message} = pullFailure(image, error);
      this.#backoffs.failed(key, `${reason}: ${message}`);
      throw this.#failed(regarding, reason, message, error);
    }
  }

  /** Tries the credentials in turn. Rejects with the errors of all. */
  async #pullWithAny(spec: ImageSpec, credentials: readonly ImageCredentials[], pod: Frozen<Pod>): Promise<string> {
    const {runtime} = this.#parts;
    const sandbox = sandboxOf(pod);
    if (credentials.length === 0) return runtime.pullImage(spec, undefined, sandbox);
    const errors: unknown[] = [];
    for (const each of credentials) {
      try {
        return await runtime.pullImage(spec, each, sandbox);
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length === 1) throw errors[0];
    const messages = [...new Set(errors.map(messageOf))];
    throw new RuntimeError('failed', messages.length === 1 ? messages[0]! : `[${messages.join(', ')}]`, {cause: errors[0]});
  }

  async #credentials({pod, image}: Wanted): Promise<ImageCredentials[]> {
    const {objects, naming, events, log} = this.#parts;
    const secrets: Frozen<Secret>[] = [];
    const missing: string[] = [];
    for (const {name = ''} of pod.spec?.imagePullSecrets ?? []) {
      if (!name) continue;
      try {
        secrets.push(await objects.secret(pod.metadata?.namespace ?? '', name));
      } catch (error) {
        log.v(2).info({secret: name, err: error}, 'unable to retrieve pull secret, the image pull may not succeed');
        missing.push(name);
      }
    }
    if (missing.length > 0)
      events.warning(
        pod,
        'FailedToRetrieveImagePullSecret',
        `Unable to retrieve some image pull secrets (${missing.join(', ')}); attempting to pull the image may not succeed.`,
      );
    return credentialsFor(keyringOf(naming, secrets), image);
  }
}

const inMs = (ms: number): string => formatDuration(Math.trunc(ms));

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
