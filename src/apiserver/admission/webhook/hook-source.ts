import type {Kind} from '#src/api/kind.js';
import type {KubeObject} from '#src/api/types.js';
import {FollowedRules, type Rules} from '#src/apiserver/admission/followed-rules.js';
import {listAndWatchKind} from '#src/apiserver/registry/read/list-watch.js';
import type {Registry} from '#src/apiserver/registry/registry.js';
import {hooksOf, type Configuration, type Hook} from './hook.js';

/** The active webhooks. */
export interface HookSource extends Rules {
  /** In the order in which they are called; a promise only until the existing configurations are known. */
  current(): readonly Hook[] | Promise<readonly Hook[]>;
}

/**
 * Follows the configurations of a kind from first use on. A write of this server is in force when its response is sent
 * (`listAndWatchKind`).
 */
export const hookSource = (registry: Registry, kind: Kind, signal: AbortSignal): HookSource => {
  const configurations = new Map<string, readonly Hook[]>();
  const update = (object: Readonly<KubeObject>, gone: boolean): void => {
    const name = object.metadata?.name ?? '';
    if (gone) configurations.delete(name);
    else configurations.set(name, hooksOf(object as Configuration));
    source.changed();
  };
  const source = new FollowedRules<readonly Hook[]>({
    // Without one of them, requests would pass that it refuses.
    follow: () => listAndWatchKind(registry, kind, update, signal, {needsAll: true}),
    arrange() {
      const hooks = [...configurations.keys()].sort(byBytes).flatMap(name => configurations.get(name)!);
      return {rules: hooks, none: hooks.length === 0};
    },
  });
  return source;
};

const byBytes = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
