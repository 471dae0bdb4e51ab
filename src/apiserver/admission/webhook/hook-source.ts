import type {Kind} from '#src/api/kind.js';
import type {KubeObject} from '#src/api/types.js';
import {listAndWatchKind} from '#src/apiserver/registry/read/list-watch.js';
import type {Registry} from '#src/apiserver/registry/registry.js';
import {hooksOf, type Configuration, type Hook} from './hook.js';

/** The active webhooks. */
export interface HookSource {
  /** In the order in which they are called; a promise only until the initial list is read. */
  hooks(): readonly Hook[] | Promise<readonly Hook[]>;
}

/**
 * Follows the configurations of a kind from first use on. A write of this server is in force when its response is sent
 * (`listAndWatchKind`).
 */
export const hookSource = (registry: Registry, kind: Kind, signal: AbortSignal): HookSource => {
  const configurations = new Map<string, readonly Hook[]>();
  let hooks: readonly Hook[] = [];
  let started: Promise<void> | undefined;
  let isThere = false;
  const arrange = (): void => {
    hooks = [...configurations.keys()].sort(byBytes).flatMap(name => configurations.get(name)!);
  };
  const update = (object: Readonly<KubeObject>, gone: boolean): void => {
    const name = object.metadata?.name ?? '';
    if (gone) configurations.delete(name);
    else configurations.set(name, hooksOf(object as Configuration));
    if (isThere) arrange();
  };
  const start = async (): Promise<void> => {
    // Without one of them, requests would pass that it refuses.
    await listAndWatchKind(registry, kind, update, signal, {needsAll: true});
    isThere = true;
    arrange();
  };
  return {
    hooks() {
      if (isThere) return hooks;
      started ??= start().catch((error: unknown) => {
        started = undefined;
        throw error;
      });
      return started.then(() => hooks);
    },
  };
};

const byBytes = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
