import type {Pod} from '#src/api/pod.js';
import {runEvery, withClockHeld, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import {dialer} from '#src/transport/dial.js';
import {singleCall} from '#src/transport/http1/single-call.js';
import type {Network} from '#src/transport/network.js';
import {parseManifest} from './manifest.js';
import type {Deliver, PodSource} from './source.js';
import {ManifestError, staticPod, type StaticPodSettings} from './static-pod.js';

const timeoutMs = 10_000;
const maxBytes = 10 << 20;
/** The number of failures from which on they are logged as errors. */
const loudAfter = 3;

export interface UrlSourceParts {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly checkMs: number;
  readonly settings: StaticPodSettings;
  readonly network: Network;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Returns the manifests of a pod or of a pod list. */
const itemsOf = (value: unknown): readonly unknown[] => {
  const {kind, items} = (value ?? {}) as {readonly kind?: unknown; readonly items?: unknown};
  if (kind !== 'PodList') return [value];
  if (!Array.isArray(items)) throw new ManifestError('invalid pod list');
  return items.map(item => ({apiVersion: 'v1', kind: 'Pod', ...(item as object)}));
};

/** Polls the static pods of a URL. */
class UrlSource implements PodSource {
  readonly name = 'http';
  readonly #parts: UrlSourceParts;
  #deliver: Deliver = () => {};
  #body: Buffer | undefined;
  #failures = 0;

  constructor(parts: UrlSourceParts) {
    this.#parts = parts;
  }

  start(deliver: Deliver): void {
    this.#deliver = deliver;
    const {clock, checkMs, signal} = this.#parts;
    this.#check().catch((error: unknown) => clock.unhandled(error));
    runEvery(clock, checkMs, signal, () => this.#check());
  }

  async #check(): Promise<void> {
    const {clock, log, url, signal} = this.#parts;
    await withClockHeld(clock, async () => {
      try {
        const pods = await this.#request();
        this.#failures = 0;
        if (pods && !signal.aborted) this.#deliver(pods);
      } catch (error) {
        if (signal.aborted) return;
        this.#failures++;
        (this.#failures >= loudAfter ? log : log.v(4)).warn({url, err: error}, `failed to read pods from URL: ${messageOf(error)}`);
      }
    });
  }

  /** Returns the pods; undefined if unchanged. */
  async #request(): Promise<readonly Pod[] | undefined> {
    const {url, headers, settings, network, clock, signal} = this.#parts;
    const {status, body} = await singleCall(new URL(url), {headers, timeoutMs, maxBytes, signal, clock, dial: dialer(network, clock)});
    if (status !== 200) throw new Error(`${url}: ${status}`);
    if (this.#body?.equals(body)) return undefined;
    const pods =
      body.length === 0
        ? []
        : itemsOf(await parseManifest(body.toString())).map(item => staticPod(item, {is: 'url', place: url}, settings));
    this.#body = body;
    return pods;
  }
}

export const urlSource = (parts: UrlSourceParts): PodSource => new UrlSource(parts);
