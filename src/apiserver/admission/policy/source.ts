import type {Kind} from '#src/api/kind.js';
import type {KubeObject} from '#src/api/types.js';
import {FollowedRules, type Rules} from '#src/apiserver/admission/followed-rules.js';
import {listAndWatchKind} from '#src/apiserver/registry/read/list-watch.js';
import type {Registry} from '#src/apiserver/registry/registry.js';
import {bindingOf, policyOf, type Binding, type BoundPolicy, type CommonSpec, type Policy} from './policy.js';

/** The active policies of one kind. */
export interface PolicySource<S extends CommonSpec = CommonSpec> extends Rules {
  /** Ordered by name; a promise only until the existing objects are known. */
  current(): readonly BoundPolicy<S>[] | Promise<readonly BoundPolicy<S>[]>;
}

/**
 * Follows the policies of a kind and their bindings from first use on. A write of this server is in force when its
 * response is sent (`listAndWatchKind`).
 */
export const policySource = <S extends CommonSpec>(
  registry: Registry,
  kinds: {readonly policies: Kind; readonly bindings: Kind},
  signal: AbortSignal,
): PolicySource<S> => {
  const policies = new Map<string, Policy<S>>();
  const bindings = new Map<string, Binding>();
  const keep =
    <T>(all: Map<string, T>, made: (object: Readonly<KubeObject>) => T) =>
    (object: Readonly<KubeObject>, gone: boolean): void => {
      const name = object.metadata?.name ?? '';
      if (gone) all.delete(name);
      else all.set(name, made(object));
      source.changed();
    };
  const source = new FollowedRules<readonly BoundPolicy<S>[]>({
    async follow() {
      // Without one of them, requests would pass that it refuses.
      await listAndWatchKind(registry, kinds.policies, keep(policies, policyOf<S>), signal, {needsAll: true});
      await listAndWatchKind(registry, kinds.bindings, keep(bindings, bindingOf), signal, {needsAll: true});
    },
    arrange() {
      const bound = boundPolicies(policies, bindings);
      return {rules: bound, none: bound.length === 0};
    },
  });
  return source;
};

/** The policies that have bindings, each with its own. */
const boundPolicies = <S extends CommonSpec>(
  policies: ReadonlyMap<string, Policy<S>>,
  bindings: ReadonlyMap<string, Binding>,
): readonly BoundPolicy<S>[] => {
  const byPolicy = new Map<string, Binding[]>();
  for (const binding of inOrder(bindings)) {
    const {policyName = ''} = binding.spec;
    const own = byPolicy.get(policyName);
    if (own) own.push(binding);
    else byPolicy.set(policyName, [binding]);
  }
  return inOrder(policies).flatMap(policy => {
    const own = byPolicy.get(policy.name);
    return own ? [{policy, bindings: own}] : [];
  });
};

const inOrder = <T>(byName: ReadonlyMap<string, T>): T[] => [...byName.keys()].sort().map(name => byName.get(name)!);
