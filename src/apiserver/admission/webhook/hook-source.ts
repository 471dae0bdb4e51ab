import type {Kind} from '#src/api/kind.js';
import type {KubeObject} from '#src/api/types.js';
import {followKind} from '#src/apiserver/registry/follow.js';
import type {Registry} from '#src/apiserver/registry/registry.js';
import {hooksOf, type Configuration, type Hook} from './hook.js';

/** The webhooks that are in force. */
export interface HookSource {
  /** In the order in which they are asked; to be waited for only by the first who ask. */
  hooks(): readonly Hook[] | Promise<readonly Hook[]>;
}

/**
 * Follows the configurations of a kind from the first question on. A configuration is in force with the answer to who wrote it: the store tells of
 * a write no later than that.
 */
export const hookSource = (registry: Registry, kind: Kind, signal: AbortSignal): HookSource => {
  const configurations = new Map<string, readonly Hook[]>();
  let hooks: readonly Hook[] = [];
  let started: Promise<void> | undefined;
  let isThere = false;
  const arrange = (): void => {
    hooks = [...configurations.keys()].sort(byBytes).flatMap(name => configurations.get(name)!);
  };
  const heard = (object: Readonly<KubeObject>, gone: boolean): void => {
    const name = object.metadata?.name ?? '';
    if (gone) configurations.delete(name);
    else configurations.set(name, hooksOf(object as Configuration));
    if (isThere) arrange();
  };
  const start = async (): Promise<void> => {
    await followKind(registry, kind, heard, signal);
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
