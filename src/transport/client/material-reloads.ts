import type {Clock} from '#src/base/clock.js';
import type {ClientPair, RequestCredentials} from '#src/transport/request-credentials.js';
import type {ConnectionSettings} from '#src/transport/settings.js';
import {isReloadable, readServerMaterial, sameMaterial, type TlsMaterial} from '#src/transport/tls-material.js';

/** How often certificate files are checked for changes. */
const materialAgeMs = 10_000;

/** Finds out when the certificates of a connection are others: those in files, or that of a plug-in. */
export class MaterialReloads {
  readonly #settings: ConnectionSettings;
  readonly #clock: Clock;
  readonly #isReloadable: boolean;
  #checkedAt: number;

  constructor(settings: ConnectionSettings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
    this.#isReloadable = isReloadable(settings);
    this.#checkedAt = clock.monotonic();
  }

  /** Returns whether to read them now for a request; its caller does so. */
  isDue({pair}: RequestCredentials, current: TlsMaterial): boolean {
    const isOld = this.#isReloadable && this.#clock.monotonic() - this.#checkedAt > materialAgeMs;
    if (!isOld && (!pair || pair.cert === current.pair?.cert)) return false;
    this.#checkedAt = this.#clock.monotonic();
    return true;
  }

  /**
   * Returns what is in use from now on, with a certificate that replaces that of the settings; undefined if no other.
   */
  async changed(pair: ClientPair | undefined, current: TlsMaterial): Promise<TlsMaterial | undefined> {
    // Files that are being replaced may be missing or inconsistent: the old material stays in use.
    const read = await readServerMaterial(this.#settings).catch(() => current);
    const material = pair ? {...read, pair} : read;
    return sameMaterial(material, current) ? undefined : material;
  }
}
