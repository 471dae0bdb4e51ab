// Follows the health of the devices of claims, and shows it in the statuses of containers.

import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {Clock} from '#src/base/clock.js';
import type {ResourceStatus} from '#src/platlet/pod/container-statuses.js';
import {claimHealth} from '#src/platlet/pod/devices/health.js';
import type {PluginClient} from '#src/platlet/rpc/plugin-client.js';
import type {ClaimInfos} from './claim-infos.js';
import type {HealthInfos} from './health-infos.js';
import {watchHealth, type ReportedHealth} from './messages.js';

export interface ClaimHealthParts {
  readonly claims: ClaimInfos;
  readonly health: HealthInfos;
  readonly clock: Clock;
}

/** The pause before a plugin is asked again that does not tell, or has stopped to tell, the health of its devices. */
const retryMs = 5_000;

/** The health of the devices of claims. */
export class ClaimHealth {
  readonly #parts: ClaimHealthParts;
  #changed: (uids: ReadonlySet<string>) => void = () => {};

  constructor(parts: ClaimHealthParts) {
    this.#parts = parts;
  }

  /** Calls `changed` with the uids of pods that use devices whose health has changed. */
  follow(changed: (uids: ReadonlySet<string>) => void): void {
    this.#changed = changed;
  }

  /** Listens to a plugin until it is disposed of. */
  watch(driver: string, client: PluginClient): Disposable {
    const {health, clock} = this.#parts;
    let isOver = false;
    let timer: Disposable | undefined;
    let stream: Disposable | undefined;
    const again = (): void => {
      health.clear(driver);
      stream = undefined;
      if (!isOver) timer = clock.schedule(retryMs, begin);
    };
    const begin = (): void => {
      client.stream(watchHealth, {}, {message: ({devices}) => this.#reported(driver, devices), ended: again}).then(
        opened => {
          stream = opened;
          if (isOver) opened[Symbol.dispose]();
        },
        () => again(),
      );
    };
    begin();
    return {
      [Symbol.dispose]() {
        isOver = true;
        timer?.[Symbol.dispose]();
        stream?.[Symbol.dispose]();
      },
    };
  }

  #reported(driver: string, devices: readonly ReportedHealth[]): void {
    const {health, claims, clock} = this.#parts;
    const changed = health.note(driver, devices, clock.now());
    const uids = new Set(changed.flatMap(({pool, device}) => claims.podsWith(driver, pool, device)));
    if (uids.size > 0) this.#changed(uids);
  }

  /** Returns the health of the devices of the claims of a container. */
  of(pod: Frozen<Pod>, container: string): readonly ResourceStatus[] {
    const {claims, health, clock} = this.#parts;
    return claimHealth(pod, container, claim =>
      [...(claims.get(claim, pod.metadata?.namespace ?? '')?.drivers ?? [])].flatMap(([driver, all]) =>
        all.map(({pool, device, cdiIds}) => ({
          id: cdiIds[0] ?? `${driver}/${pool}/${device}`,
          health: health.of(driver, {pool, device}, clock.now()),
        })),
      ),
    );
  }
}
