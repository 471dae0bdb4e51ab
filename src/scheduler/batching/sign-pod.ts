import {canonicalJson, canonicalJsonInSteps} from '#src/base/json/canonical-json.js';
import {weightLeft} from '#src/base/json/json-weight.js';
import {isSteps, type Steps} from '#src/base/steps.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import type {Cluster, Filter, PluginName, PluginSignature, Score, SignatureFragment} from '#src/scheduler/framework/plugin.js';
import {schedulerName} from '#src/scheduler/signatures/fragments.js';

/** The plugins of a profile. */
interface Plugins {
  readonly filters: readonly Filter[];
  readonly scores: readonly Score[];
}

/** Returns the plugins of a profile that say nothing about signatures: with any of them its pods have none. */
export const pluginsWithoutSignature = ({filters, scores}: Plugins): PluginName[] => [
  ...new Set([...filters, ...scores].filter(({sign}) => !sign).map(({plugin}) => plugin)),
];

/** Most values are so small that they are encoded at once, without the cost of steps. */
const isSmall = (value: unknown): boolean => weightLeft(value, 100) >= 0;

/** Makes the signatures of a profile's pods. */
export class PodSigner {
  readonly #refusals: readonly NonNullable<PluginSignature['refuses']>[];
  readonly #fragments: readonly SignatureFragment[];

  /** Every plugin must say what it adds to signatures. */
  constructor({filters, scores}: Plugins) {
    const signatures = new Set([...filters, ...scores].flatMap(({sign}) => (sign ? [sign] : [])));
    this.#refusals = [...signatures].flatMap(({refuses}) => (refuses ? [refuses] : []));
    const fragments = [schedulerName, ...[...signatures].flatMap(each => each.fragments)];
    const byKey = new Map(fragments.map(fragment => [fragment.key, fragment]));
    this.#fragments = [...byKey.keys()].sort().map(key => byKey.get(key)!);
  }

  /** Returns the signature of a pod; undefined if a plugin refuses. */
  *sign(pod: PodInfo, cluster: Cluster): Steps<string | undefined> {
    for (const refuses of this.#refusals) if (refuses(pod, cluster)) return undefined;
    const parts: string[] = [];
    for (const {key, value} of this.#fragments) {
      const given = value(pod, cluster);
      const part = isSteps(given) ? yield* given : given;
      if (part !== undefined) parts.push(`"${key}":${isSmall(part) ? canonicalJson(part) : yield* canonicalJsonInSteps(part)}`);
    }
    return `{${parts.join(',')}}`;
  }
}
