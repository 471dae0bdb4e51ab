// Whether a pod may use an image that is present on the node: the credentials of pulls are recorded, and a pod without
// any of them has to pull again.

import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {noMeter, type Counter, type Gauge, type Meter} from '#src/base/meter.js';
import {messageOf} from '#src/base/message.js';
import {fullName, repositoryName} from '#src/model/pod/image-name.js';
import type {Image} from '#src/platlet/runtime/images.js';
import type {Runtime} from '#src/platlet/runtime/runtime.js';
import type {TrackedCredentials} from './keyring.js';
import {matchesAccount, matchSecrets, credentialsRecord, recordAfter, type PullCredentials, type PullSecret} from './pull-record.js';
import type {PullRecords} from './pull-records.js';
import type {NeedsVerification} from './verification.js';

export interface ImageAccessParts {
  readonly records: PullRecords;
  readonly needsVerification: NeedsVerification;
  readonly runtime: Pick<Runtime, 'images'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly meter?: Meter;
  /** The prefix of metric names. */
  readonly agent: string;
}

/** Why a pod may use an image or has to pull it: a metric label. */
type CheckResult = 'credentialPolicyAllowed' | 'credentialRecordFound' | 'mustAuthenticate' | 'error';

/** Times in records have whole seconds. */
const noteMs = 1_000;

export class ImageAccess {
  readonly #parts: ImageAccessParts;
  readonly #checks: Counter;
  readonly #intentCount: Gauge;
  readonly #pulledCount: Gauge;
  /** The pulls in progress, by image. */
  readonly #pulling = new Map<string, number>();
  /** Records are changed one at a time. */
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(parts: ImageAccessParts) {
    this.#parts = parts;
    const {meter = noMeter, agent} = parts;
    this.#checks = meter.counter({
      name: `${agent}_imagemanager_image_mustpull_checks_total`,
      help: 'How often it was looked whether credentials have to be verified before an image is used.',
      labels: ['result'],
    });
    this.#intentCount = meter.gauge({
      name: `${agent}_imagemanager_ondisk_pullintents`,
      help: 'The notes on disk about pulls that go on.',
    });
    this.#pulledCount = meter.gauge({
      name: `${agent}_imagemanager_ondisk_pulledrecords`,
      help: 'The notes on disk about images that were pulled.',
    });
  }

  /** Interrupted pulls whose images are present count as pulled with unknown credentials. */
  static async open(parts: ImageAccessParts): Promise<ImageAccess> {
    const access = new ImageAccess(parts);
    await access.#adopt();
    return access;
  }

  /**
   * Whether a present image has to be pulled again for a pod. `credentials` returns those of the pod, and is called
   * only if they matter.
   */
  async mustPull(image: string, imageRef: string, credentials: () => Promise<readonly TrackedCredentials[]>): Promise<boolean> {
    const result = await this.#check(image, imageRef, credentials);
    this.#checks.add({result});
    return result === 'mustAuthenticate' || result === 'error';
  }

  async #check(image: string, imageRef: string, credentials: () => Promise<readonly TrackedCredentials[]>): Promise<CheckResult> {
    const {records, needsVerification, log} = this.#parts;
    try {
      const record = await records.pulled(imageRef);
      const isPulled = record !== undefined || this.#pulling.has(image) || (await records.isPulling(image));
      if (!needsVerification(image, isPulled)) return 'credentialPolicyAllowed';
      const repository = repositoryName(image);
      if (!record || repository === undefined || !Object.hasOwn(record.credentials, repository)) return 'mustAuthenticate';
      const {nodePodsAccessible, kubernetesSecrets = [], kubernetesServiceAccounts = []} = record.credentials[repository]!;
      if (nodePodsAccessible) return 'credentialRecordFound';
      if (kubernetesSecrets.length === 0 && kubernetesServiceAccounts.length === 0) return 'mustAuthenticate';
      const own = await credentials();
      const secrets = own.flatMap(({source, hash}): PullSecret[] => (source ? [{...source, credentialHash: hash}] : []));
      const {isAllowed, noted} = matchSecrets(kubernetesSecrets, secrets);
      if (noted) await this.#noteReported(image, imageRef, {kubernetesSecrets: [noted]});
      const account = own.find(({serviceAccount}) => serviceAccount)?.serviceAccount;
      return isAllowed || matchesAccount(kubernetesServiceAccounts, account) ? 'credentialRecordFound' : 'mustAuthenticate';
    } catch (error) {
      log.error({image, err: error}, 'unable to access the records about image pulls');
      return 'error';
    }
  }

  /** Called before a pull. Rejects if the pull cannot be recorded: then it must not start. */
  begin(image: string): Promise<void> {
    return this.#inTurn(async () => {
      try {
        await this.#parts.records.writeIntent(image);
      } catch (error) {
        throw new Error(`failed to record image pull intent: ${messageOf(error)}`, {cause: error});
      }
      this.#pulling.set(image, (this.#pulling.get(image) ?? 0) + 1);
      await this.#count();
    });
  }

  /** Called after a pull, with the credentials that worked; undefined if it needed none. */
  async pulled(image: string, imageRef: string, used: TrackedCredentials | undefined): Promise<void> {
    // Until the image itself is recorded, the record of the pull tells that the agent has pulled it.
    if (await this.#noteReported(image, imageRef, credentialsRecord(used))) await this.failed(image);
  }

  /** Called after a failed pull. */
  failed(image: string): Promise<void> {
    const {records, log} = this.#parts;
    return this.#inTurn(async () => {
      const others = (this.#pulling.get(image) ?? 1) - 1;
      if (others > 0) return void this.#pulling.set(image, others);
      try {
        await records.removeIntent(image);
        this.#pulling.delete(image);
      } catch (error) {
        log.error({image, err: error}, 'failed to remove the record of an image pull');
      }
      await this.#count();
    });
  }

  /**
   * Removes the records of images that are no longer on the node. `since`: when the present images began to be listed.
   */
  prune(present: readonly string[], since: number): Promise<void> {
    const {records, log} = this.#parts;
    return this.#inTurn(async () => {
      await records.removeOthers(present, since - noteMs, (path, error) =>
        log.error({path, err: error}, 'failed to remove the record of a pulled image'),
      );
      await this.#count();
    });
  }

  async #adopt(): Promise<void> {
    const {records, runtime, log} = this.#parts;
    const cutOff = await records.intents((path, error) => log.error({path, err: error}, 'skipping a corrupt image pull record'));
    if (cutOff.length > 0) {
      const images = await runtime.images().catch((error: unknown): readonly Image[] => {
        log.error({err: error}, 'failed to list images');
        return [];
      });
      const ids = new Map(images.flatMap(({id, tags, digests}) => [...tags, ...digests].map(name => [name, id])));
      for (const image of cutOff) {
        const imageRef = ids.get(image) ?? ids.get(fullName(image) ?? image);
        if (imageRef !== undefined && (await this.#noteReported(image, imageRef, undefined))) await this.failed(image);
      }
    }
    await this.#count();
  }

  /** Records how an image was pulled. Returns whether the record is on disk. */
  async #noteReported(image: string, imageRef: string, credentials: PullCredentials | undefined): Promise<boolean> {
    try {
      await this.#inTurn(() => this.#note(image, imageRef, credentials));
      return true;
    } catch (error) {
      this.#parts.log.error({image, imageRef, err: error}, 'failed to write the record of a pulled image');
      return false;
    }
  }

  async #note(image: string, imageRef: string, credentials: PullCredentials | undefined): Promise<void> {
    const {records, clock, log} = this.#parts;
    const repository = repositoryName(image);
    if (repository === undefined) throw new Error(`invalid image name ${JSON.stringify(image)}`);
    const known = await records.pulled(imageRef).catch((error: unknown) => {
      log.warn({image, err: error}, 'failed to read the record of a pulled image, writing a new one');
      return undefined;
    });
    const next = recordAfter(known, {imageRef, repository, credentials}, clock.now());
    if (next) await records.writePulled(next);
    await this.#count();
  }

  async #count(): Promise<void> {
    const {records, log} = this.#parts;
    try {
      const {intents, pulled} = await records.counts();
      this.#intentCount.set(intents);
      this.#pulledCount.set(pulled);
    } catch (error) {
      log.v(4).info({err: error}, 'the records about image pulls could not be counted');
    }
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => {});
    return result;
  }
}
