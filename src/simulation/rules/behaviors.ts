import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import {CacheBound} from '#src/base/cache-bound.js';
import {Lru} from '#src/base/lru.js';
import type {SpecContainer} from '#src/model/pod/spec-containers.js';
import type {Behavior} from './behavior.js';
import {RuleError} from './fields.js';
import {readBehavior} from './read.js';
import {behaviorOf, type PodRule} from './rules.js';

type OwnRules = {readonly rules: readonly PodRule[]; readonly error?: string};

/** The behavior of containers, from the rules and pod annotations. */
export interface Behaviors {
  of(pod: Frozen<Pod>, container: SpecContainer): Behavior;
  /** Returns what is invalid in the pod's annotation, which is ignored then. */
  errorOf(pod: Frozen<Pod>): string | undefined;
}

const bound = new CacheBound('simulated_behaviors', 8 << 20);

export const behaviors = (naming: Naming, rules: readonly PodRule[]): Behaviors => {
  const key = naming.subKey('simulation', 'behavior');
  const read = new Lru<string, OwnRules>(bound, {bytesOf: (_, text) => 500 + 10 * text.length});
  const ownRules = ({metadata}: Frozen<Pod>): OwnRules | undefined => {
    const text = metadata?.annotations?.[key];
    if (text === undefined) return undefined;
    let own = read.get(text);
    if (!own) read.set(text, (own = ownRulesOf(text, key)));
    return own;
  };
  return {
    of(pod, {container, role}) {
      const own = ownRules(pod)?.rules;
      return behaviorOf(own ? [...own, ...rules] : rules, {pod, container, role});
    },
    errorOf: pod => ownRules(pod)?.error,
  };
};

const ownRulesOf = (text: string, key: string): OwnRules => {
  try {
    return {rules: readBehavior(text)};
  } catch (error) {
    if (error instanceof RuleError) return {rules: [], error: `annotation ${key}: ${error.message}`};
    throw error;
  }
};
