import {kinds} from '#src/api/kinds/index.js';
import {FollowedRules, type Rules} from '#src/apiserver/admission/followed-rules.js';
import {listAndWatchKind} from '#src/apiserver/registry/read/list-watch.js';
import type {Registry} from '#src/apiserver/registry/registry.js';

/** Which namespaces have quotas. */
export interface QuotaSource extends Rules {
  /** The names of quotas by namespace; a promise only until the existing quotas are known. */
  current(): QuotasByNamespace | Promise<QuotasByNamespace>;
}

type QuotasByNamespace = ReadonlyMap<string, ReadonlySet<string>>;

/**
 * Follows the quotas from first use on, so that writes where there is none need not look. A write of this server is in
 * force when its response is sent (`listAndWatchKind`).
 */
export const quotaSource = (registry: Registry, signal: AbortSignal): QuotaSource => {
  const byNamespace = new Map<string, Set<string>>();
  const update = ({metadata}: {readonly metadata?: {readonly namespace?: string; readonly name?: string}}, gone: boolean): void => {
    const {namespace = '', name = ''} = metadata ?? {};
    const names = byNamespace.get(namespace) ?? new Set();
    if (gone) names.delete(name);
    else names.add(name);
    if (names.size > 0) byNamespace.set(namespace, names);
    else byNamespace.delete(namespace);
    source.changed();
  };
  const source = new FollowedRules<QuotasByNamespace>({
    // Without one of them, requests would pass that it refuses.
    follow: () => listAndWatchKind(registry, kinds.resourceQuotas, update, signal, {needsAll: true}),
    arrange: () => ({rules: byNamespace, none: byNamespace.size === 0}),
  });
  return source;
};
